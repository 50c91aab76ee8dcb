// The cured twin: clear() runs as a callback of Python's atexit, so that the static
// destructor finds nothing to release.
#ifndef NDEBUG
#define NDEBUG // as wheels are built: pybind11 then does not test for the GIL itself
#endif
#include <pybind11/pybind11.h>
#include <utility>

namespace py = pybind11;

namespace {

py::object registered;

} // namespace

PYBIND11_MODULE(extension, m)
{
    m.def("enroll", [](py::object object) { registered = std::move(object); });
    m.def("clear", [] { registered = py::object(); });
    // While the interpreter lives; the destructor then finds nothing.
    py::module_::import("atexit").attr("register")(m.attr("clear"));
}
