// The cured twin: the GIL is released around the native work only, in a scope that ends
// before the temporary does.
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
    py::gil_scoped_release released;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

} // namespace

PYBIND11_MODULE(extension, m)
{
    m.def("produce", [](py::object item) { pending.push_back(std::move(item)); });
    m.def("consume", &consume);
}
