// A binding like many: numbers, text and containers in and out, a class with methods.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <string>
#include <vector>

namespace py = pybind11;

namespace {

class Greeter {
public:
    explicit Greeter(std::string greeting) : greeting_(std::move(greeting)) {}
    std::string greet(const std::string &name) const { return greeting_ + ", " + name; }
    std::size_t length(const std::string &name) const { return greeting_.size() + name.size(); }

private:
    std::string greeting_;
};

std::vector<int> count(int end) {
    std::vector<int> numbers;
    for (int number = 0; number < end; ++number)
        numbers.push_back(number);
    return numbers;
}

} // namespace

PYBIND11_MODULE(extension, m) {
    m.def("add", [](int a, int b) { return a + b; });
    m.def("count", &count);
    m.def("total", [](const std::vector<int> &numbers) {
        int total = 0;
        for (int number : numbers)
            total += number;
        return total;
    });
    py::class_<Greeter>(m, "Greeter")
        .def(py::init<std::string>())
        .def("greet", &Greeter::greet)
        .def("length", &Greeter::length);
}
