#include "capture.h"
#include <thread>

struct Object {
    const char *label;
    APART ~Object() {
        capture(label);
        label = nullptr;
    }
};

static Object static_object{"static-object"};
static thread_local Object thread_local_object{nullptr};

int main() {
    static Object function_static{"function-static"};
    thread_local_object.label = "thread-local-object";
    std::thread([] { thread_local_object.label = "thread-object"; }).join();
    return function_static.label == nullptr;
}
