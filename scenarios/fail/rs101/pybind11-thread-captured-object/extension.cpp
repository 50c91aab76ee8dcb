// A std::thread captures an object by value. When the thread ends, its state is
// destroyed on that thread: the last reference goes with no thread state attached.
// The twin moves the object out of the capture and drops it under an acquired GIL.
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
    std::thread worker([job = std::move(job)] {
        // native work that uses the job's buffer
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
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
