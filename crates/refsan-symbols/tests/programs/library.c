typedef int callback(int);

static __attribute__((noipa)) int hidden(callback *call, int n) { return call(n + 1) * 2; }

__attribute__((noipa)) int exported_before(int n) { return n * 3; }

__attribute__((noipa)) int exported_call(callback *call, int n) { return hidden(call, n) + 1; }
