// A std::thread captures an object by value. When the thread ends, its state is
// destroyed on that thread: the last reference goes with no thread state attached.
// The twin moves the object out of the capture and drops it under an acquired GIL.
#ifndef NDEBUG
#define NDEBUG // as wheels are built: nanobind then does not test for the GIL itself
#endif
#include <nanobind/nanobind.h>
#include <chrono>
#include <thread>
#include <utility>

namespace nb = nanobind;

namespace {

void process(nb::object job)
{
    std::thread worker([job = std::move(job)] {
        // native work that uses the job's buffer
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    });
    nb::gil_scoped_release released;
    worker.join();
}

} // namespace

NB_MODULE(extension, m)
{
    // The job lives in a list, so that the thread can own its last reference.
    m.def("process", [](nb::list jobs) {
        nb::object job = jobs.attr("pop")();
        process(std::move(job));
    });
}
