// The function runs under call_guard<gil_scoped_release>, and holds a temporary object
// in the released region: its destructor drops the last reference without the GIL.
// The twin releases the GIL only around the native work.
#ifndef NDEBUG
#define NDEBUG // as wheels are built: nanobind then does not test for the GIL itself
#endif
#include <nanobind/nanobind.h>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace {

std::vector<nb::object> pending;

void consume()
{
    nb::object item = std::move(pending.back());
    pending.pop_back();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

} // namespace

NB_MODULE(extension, m)
{
    m.def("produce", [](nb::object item) { pending.push_back(std::move(item)); });
    m.def("consume", &consume, nb::call_guard<nb::gil_scoped_release>());
}
