// The cured twin: the release takes the GIL, and leaks the arrays when the interpreter
// is gone; the wait lets go of the GIL, so that the queue can take it.
#include <Python.h>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace {

class Bindings {
public:
    explicit Bindings(PyObject *inputs)
    {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inputs); i++) {
            arrays.push_back(PyTuple_GET_ITEM(inputs, i));
            Py_INCREF(arrays.back());
        }
    }

    ~Bindings()
    {
        if (!Py_IsInitialized()) {
            return;
        }
        PyGILState_STATE state = PyGILState_Ensure();
        for (PyObject *array : arrays) {
            Py_DECREF(array);
        }
        PyGILState_Release(state);
    }

private:
    std::vector<PyObject *> arrays;
};

class Queue {
public:
    using Clock = std::chrono::steady_clock;
    using Block = std::function<void()>;

    // The engine lives as long as the process: its thread is never joined.
    Queue() { std::thread([this] { run(); }).detach(); }

    void after(std::chrono::milliseconds delay, Block block)
    {
        std::lock_guard<std::mutex> lock(mutex);
        pending.emplace_back(Clock::now() + delay, std::move(block));
        outstanding++;
        changed.notify_all();
    }

    void wait_until_idle()
    {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [this] { return outstanding == 0; });
    }

    bool idle()
    {
        std::lock_guard<std::mutex> lock(mutex);
        return outstanding == 0;
    }

private:
    void run()
    {
        std::unique_lock<std::mutex> lock(mutex);
        for (;;) {
            changed.wait(lock, [this] { return !pending.empty(); });
            auto due = pending.front().first;
            Block block = std::move(pending.front().second);
            pending.pop_front();
            lock.unlock();
            std::this_thread::sleep_until(due);
            block();
            block = nullptr;
            lock.lock();
            outstanding--;
            changed.notify_all();
        }
    }

    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::pair<Clock::time_point, Block>> pending;
    int outstanding = 0;
};

Queue &queue()
{
    static Queue *engine = new Queue;
    return *engine;
}

PyObject *predict(PyObject *, PyObject *inputs)
{
    auto bindings = std::make_shared<Bindings>(inputs);
    queue().after(std::chrono::milliseconds(1000), [bindings] { /* unbind */ });
    return PyLong_FromSsize_t(PyTuple_GET_SIZE(inputs));
}

PyObject *synchronize(PyObject *, PyObject *)
{
    Py_BEGIN_ALLOW_THREADS
    queue().wait_until_idle();
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

PyObject *idle(PyObject *, PyObject *)
{
    return PyBool_FromLong(queue().idle());
}

PyMethodDef methods[] = {
    {"predict", predict, METH_VARARGS, "Predict from some arrays."},
    {"synchronize", synchronize, METH_NOARGS, "Wait for the queue."},
    {"idle", idle, METH_NOARGS, "Whether the queue is empty."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "extension", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr,
};

} // namespace

PyMODINIT_FUNC PyInit_extension(void)
{
    return PyModule_Create(&definition);
}
