/* capture(label) records the caller's registers, its stack and the mapped binaries, as the runtime
   does, in $SNAPSHOTS/label.stack and $SNAPSHOTS/label.modules. */
#ifndef CAPTURE_H
#define CAPTURE_H
#ifdef __cplusplus
extern "C"
#endif
void capture(const char *label);

/* A function that stays one: not inlined, not cloned. */
#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noipa))
#endif
#endif
