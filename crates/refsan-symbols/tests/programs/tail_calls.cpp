// The destructors of two classes, reached by virtual calls, release what they hold.
extern "C" void sink(void *);
extern "C" int check(void *);

namespace pool {
struct Base {
    virtual ~Base() {}
    virtual void drop() = 0;
    void *object;
};

struct First : Base {
    void drop() override {
        check(this);
        sink(object);
    }
};

struct Second : Base {
    void drop() override {
        check(object);
        sink(object);
    }
};

Base *first() { return new First; }
Base *second() { return new Second; }
} // namespace pool

extern "C" int calls_drop(pool::Base *base) {
    base->drop();
    return check(base) + 1;
}
