// The function runs under call_guard<gil_scoped_release>, and holds a temporary object
// in the released region: its destructor drops the last reference without the GIL.
// The twin releases the GIL only around the native work.
#ifndef NDEBUG
#define NDEBUG // as wheels are built: pybind11 then does not test for the GIL itself
#endif
#include <pybind11/pybind11.h>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace py = pybind11;

namespace {

std::vector<py::object> pending;

void consume()
{
    py::object item = std::move(pending.back());
    pending.pop_back();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

} // namespace

PYBIND11_MODULE(extension, m)
{
    m.def("produce", [](py::object item) { pending.push_back(std::move(item)); });
    m.def("consume", &consume, py::call_guard<py::gil_scoped_release>());
}
