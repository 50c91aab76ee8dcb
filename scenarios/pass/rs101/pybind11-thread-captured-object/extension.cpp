// The cured twin: the thread moves the object out of its capture and drops it while it
// holds the GIL; what is destroyed with the thread is empty.
#ifndef NDEBUG
#define NDEBUG // as wheels are built: pybind11 then does not test for the GIL itself
#endif
#include <pybind11/pybind11.h>
#include <chrono>
#include <thread>
#include <utility>

namespace py = pybind11;

namespace {

void process(py::object job)
{
    std::thread worker([job = std::move(job)]() mutable {
        // native work that uses the job's buffer
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        py::gil_scoped_acquire acquired;
        py::object last = std::move(job);
    });
    py::gil_scoped_release released;
    worker.join();
}

} // namespace

PYBIND11_MODULE(extension, m)
{
    // The job lives in a list, so that the thread can own its last reference.
    m.def("process", [](py::list jobs) {
        py::object job = jobs.attr("pop")();
        process(std::move(job));
    });
}
