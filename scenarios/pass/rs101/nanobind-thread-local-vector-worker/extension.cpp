// The cured twin: the worker calls forget() before it ends (drive.py).
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
