// A static object lives until exit() runs the static destructors, after
// Py_FinalizeEx.
// The twin lets go of the object from a callback of Python's atexit.
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
}
