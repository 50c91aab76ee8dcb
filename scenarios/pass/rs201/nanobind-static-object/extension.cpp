// The cured twin: clear() runs as a callback of Python's atexit, so that the static
// destructor finds nothing to release.
#ifndef NDEBUG
#define NDEBUG // as wheels are built: nanobind then does not test for the GIL itself
#endif
#include <nanobind/nanobind.h>
#include <utility>

namespace nb = nanobind;

namespace {

nb::object registered;

} // namespace

NB_MODULE(extension, m)
{
    m.def("enroll", [](nb::object object) { registered = std::move(object); });
    m.def("clear", [] { registered = nb::object(); });
    // While the interpreter lives; the destructor then finds nothing.
    nb::module_::import_("atexit").attr("register")(m.attr("clear"));
}
