/* Functions that call `sink`, an imported function, in all the ways that compilers make of it. */
#define APART __attribute__((noinline, noclone))

extern void sink(void *);
extern int check(void *);
extern void report(void *) __attribute__((cold));

static APART void hidden(void *object) {
    if (check(object))
        sink(object);
}

/* Its last act is a jump to a function whose last act is one. */
static APART void chained(void *object) {
    check(object);
    hidden(object);
}

/* Its last act is a call of whatever it was given. */
static APART void computed(void (*function)(void *), void *object) {
    check(object);
    function(object);
}

/* Only the unlikely part, which lies apart, calls it. */
static APART void split(void *object) {
    if (check(object)) {
        report(object);
        check(object);
        sink(object);
        return;
    }
    check(object);
}

static APART void quiet(void *object) { check(object); }

void exported(void *object) {
    check(object);
    sink(object);
}

int direct(void *object) {
    sink(object);
    return check(object) + 1;
}

#define CALLER(name, call)                                                                         \
    int calls_##name(void *object) {                                                               \
        call;                                                                                      \
        return check(object) + 1;                                                                  \
    }

CALLER(hidden, hidden(object))
CALLER(chained, chained(object))
CALLER(computed, computed(*(void (**)(void *))object, object))
CALLER(split, split(object))
CALLER(quiet, quiet(object))
CALLER(exported, exported(object))
CALLER(imported, check(object))
CALLER(pointer, (*(void (**)(void *))object)(object))
