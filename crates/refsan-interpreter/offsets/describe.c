/* Prints the words of `_Py_DebugOffsets` (3.13+) as the interpreter's headers
 * define them, one a line, for `tests/fixtures/debug_offsets/`: free-threaded
 * builds are tested with these where no such interpreter is at hand.
 *
 *   I=$(python3.X -c 'import sysconfig; print(sysconfig.get_path("include"))')
 *   cc -w -I"$I" -I"$I/internal" -o describe describe.c && ./describe
 *
 * Add -DPy_GIL_DISABLED=1 for a free-threaded build, and for 3.13, whose
 * description can only be had with the whole initial runtime, the linker option
 * -Wl,--unresolved-symbols=ignore-all.
 */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#include "internal/pycore_debug_offsets.h"
#include "internal/pycore_interpframe.h"
static const _Py_DebugOffsets offsets = _Py_DebugOffsets_INIT(_Py_Debug_Cookie);
#else
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#include "internal/pycore_frame.h"
#include "internal/pycore_ceval.h"
#include "internal/pycore_runtime_init.h"
static const _PyRuntimeState runtime = _PyRuntimeState_INIT(runtime, _Py_Debug_Cookie);
#define offsets (runtime.debug_offsets)
#endif

int main(void)
{
    uint64_t words[sizeof(_Py_DebugOffsets) / sizeof(uint64_t)];
    memcpy(words, &offsets, sizeof words);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        printf("%llu\n", (unsigned long long)words[i]);
    return 0;
}
