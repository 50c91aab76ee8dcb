#include "capture.h"

typedef int callback(int);

static APART int hidden(callback *call, int n) { return call(n + 1) * 2; }

APART int exported_before(int n) { return n * 3; }

APART int exported_call(callback *call, int n) { return hidden(call, n) + 1; }
