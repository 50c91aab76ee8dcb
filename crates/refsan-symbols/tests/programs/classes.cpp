#include "capture.h"
#include <functional>
#include <string>

namespace pool {
template <typename T> struct __attribute__((visibility("default"))) Store {
    T value;
    APART ~Store() {
        capture("classes");
        value += 1;
    }
};
struct Engine {
    APART int drain(const std::string &name, int count) {
        Store<long> store{count};
        return (int)name.size() + count;
    }
};
} // namespace pool

static APART int call(const std::function<int()> &function) {
    return function() + 1;
}

int main(int argc, char **) {
    pool::Engine engine;
    return call([&] { return engine.drain("name", argc) + 1; }) == 0;
}
