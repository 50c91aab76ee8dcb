// A static object lives until exit() runs the static destructors, after
// Py_FinalizeEx.
// The twin lets go of the object from a callback of Python's atexit.
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
}
