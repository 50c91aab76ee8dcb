// Each thread remembers objects in a thread_local vector that nobody ever clears.
// Its destructor runs under __call_tls_dtors: on a worker thread, whose
// thread state is gone by then.
// The twin empties the vector before the worker ends (drive.py).
#ifndef NDEBUG
#define NDEBUG // as wheels are built: nanobind then does not test for the GIL itself
#endif
#include <nanobind/nanobind.h>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace {

std::vector<nb::object> &remembered()
{
    static thread_local std::vector<nb::object> objects;
    return objects;
}

} // namespace

NB_MODULE(extension, m)
{
    m.def("remember", [](nb::object object) { remembered().push_back(std::move(object)); });
    m.def("forget", [] { remembered().clear(); });
}
