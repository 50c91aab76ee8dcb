// Each thread remembers objects in a thread_local vector that nobody ever clears.
// Its destructor runs under __call_tls_dtors: on a worker thread, whose
// thread state is gone by then.
// The twin empties the vector before the worker ends (drive.py).
#ifndef NDEBUG
#define NDEBUG // as wheels are built: pybind11 then does not test for the GIL itself
#endif
#include <pybind11/pybind11.h>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace {

std::vector<py::object> &remembered()
{
    static thread_local std::vector<py::object> objects;
    return objects;
}

} // namespace

PYBIND11_MODULE(extension, m)
{
    m.def("remember", [](py::object object) { remembered().push_back(std::move(object)); });
    m.def("forget", [] { remembered().clear(); });
}
