/* Prints the offsets that `src/layout/` tabulates, one `name value` a line.
 *
 * Regenerate for one interpreter (it needs its development headers):
 *
 *   I=$(python3.X -c 'import sysconfig; print(sysconfig.get_path("include"))')
 *   cc -w -I"$I" -I"$I/internal" -o offsets offsets.c && ./offsets
 *
 * Add -DPy_GIL_DISABLED=1 for the layout of a free-threaded build. Nothing of
 * the interpreter is linked: everything printed is a compile-time constant,
 * and the bit fields of `str` are set in a local copy and looked at.
 */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <frameobject.h>

#if PY_VERSION_HEX < 0x03090000
#include "internal/pycore_pystate.h"
#else
#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#endif
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_debug_offsets.h"
#include "internal/pycore_interpframe.h"
#elif PY_VERSION_HEX >= 0x030B0000
#include "internal/pycore_frame.h"
#endif

#define SHOW(name, value) printf("%-36s %llu\n", name, (unsigned long long)(value))
#define FIELD(type, field) SHOW(#type "." #field, offsetof(type, field))

static void show_bits(const char *name, const PyASCIIObject *object)
{
    uint32_t word;
    memcpy(&word, &object->state, sizeof word);
    printf("%-36s 0x%x\n", name, word);
}

#define BITS(field)                             \
    do {                                        \
        PyASCIIObject object;                   \
        memset(&object, 0, sizeof object);      \
        object.state.field = ~0;                \
        show_bits("str.state." #field, &object); \
    } while (0)

int main(void)
{
    printf("version                              0x%08x\n", PY_VERSION_HEX);
    SHOW("runtime.interpreters.head", offsetof(_PyRuntimeState, interpreters.head));
    FIELD(PyInterpreterState, id);
    FIELD(PyInterpreterState, next);
#if PY_VERSION_HEX < 0x030B0000
    FIELD(PyInterpreterState, tstate_head);
#else
    FIELD(PyInterpreterState, threads.head);
#endif

    SHOW("sizeof(PyThreadState)", sizeof(PyThreadState));
    FIELD(PyThreadState, next);
    FIELD(PyThreadState, interp);
    FIELD(PyThreadState, thread_id);
#if PY_VERSION_HEX >= 0x030B0000
    FIELD(PyThreadState, native_thread_id);
#endif

#if PY_VERSION_HEX < 0x030B0000
    FIELD(PyThreadState, frame);
    FIELD(PyFrameObject, f_back);
    FIELD(PyFrameObject, f_code);
    FIELD(PyFrameObject, f_lasti);
    FIELD(PyCodeObject, co_code);
#else
#if PY_VERSION_HEX < 0x030D0000
    FIELD(PyThreadState, cframe);
    FIELD(_PyCFrame, current_frame);
    FIELD(_PyInterpreterFrame, f_code);
    FIELD(_PyInterpreterFrame, prev_instr);
#else
    FIELD(PyThreadState, current_frame);
    FIELD(_PyInterpreterFrame, f_executable);
    FIELD(_PyInterpreterFrame, instr_ptr);
#endif
    FIELD(_PyInterpreterFrame, previous);
    FIELD(_PyInterpreterFrame, owner);
    FIELD(PyCodeObject, co_qualname);
    FIELD(PyCodeObject, _co_firsttraceable);
    FIELD(PyCodeObject, co_code_adaptive);
#if PY_VERSION_HEX >= 0x030E0000 && defined(Py_GIL_DISABLED)
    FIELD(_PyInterpreterFrame, tlbc_index);
    FIELD(PyCodeObject, co_tlbc);
    SHOW("tlbc.entries", offsetof(_PyCodeArray, entries));
#endif
#endif
    FIELD(PyCodeObject, co_filename);
    FIELD(PyCodeObject, co_name);
    FIELD(PyCodeObject, co_firstlineno);
#if PY_VERSION_HEX < 0x030A0000
    FIELD(PyCodeObject, co_lnotab);
#else
    FIELD(PyCodeObject, co_linetable);
#endif

    SHOW("sizeof(PyObject)", sizeof(PyObject));
    FIELD(PyObject, ob_type);
#ifdef Py_GIL_DISABLED
    FIELD(PyObject, ob_ref_local);
    FIELD(PyObject, ob_ref_shared);
#else
    FIELD(PyObject, ob_refcnt);
#endif
    FIELD(PyTypeObject, tp_name);
    FIELD(PyTypeObject, tp_flags);
    FIELD(PyTypeObject, tp_dict);
    FIELD(PyHeapTypeObject, ht_qualname);
    FIELD(PyBytesObject, ob_sval);
    SHOW("bytes.ob_size", offsetof(PyVarObject, ob_size));
    FIELD(PyASCIIObject, length);
    FIELD(PyASCIIObject, state);
    SHOW("sizeof(PyASCIIObject)", sizeof(PyASCIIObject));
    SHOW("sizeof(PyCompactUnicodeObject)", sizeof(PyCompactUnicodeObject));
    BITS(kind);
    BITS(compact);
    BITS(ascii);
#if PY_VERSION_HEX < 0x030C0000
    BITS(ready);
#endif

#if PY_VERSION_HEX >= 0x030D0000
#define DEBUG(field) SHOW("_Py_DebugOffsets." #field, offsetof(_Py_DebugOffsets, field))
    SHOW("sizeof(_Py_DebugOffsets)", sizeof(_Py_DebugOffsets));
    DEBUG(version);
    DEBUG(free_threaded);
    DEBUG(runtime_state.size);
    DEBUG(runtime_state.interpreters_head);
    DEBUG(interpreter_state.size);
    DEBUG(interpreter_state.id);
    DEBUG(interpreter_state.next);
    DEBUG(interpreter_state.threads_head);
    DEBUG(thread_state.size);
    DEBUG(thread_state.next);
    DEBUG(thread_state.interp);
    DEBUG(thread_state.current_frame);
    DEBUG(thread_state.thread_id);
    DEBUG(thread_state.native_thread_id);
    DEBUG(interpreter_frame.size);
    DEBUG(interpreter_frame.previous);
    DEBUG(interpreter_frame.executable);
    DEBUG(interpreter_frame.instr_ptr);
    DEBUG(interpreter_frame.owner);
#if PY_VERSION_HEX >= 0x030E0000
    DEBUG(interpreter_frame.tlbc_index);
    DEBUG(code_object.co_tlbc);
#endif
    DEBUG(code_object.size);
    DEBUG(code_object.filename);
    DEBUG(code_object.name);
    DEBUG(code_object.qualname);
    DEBUG(code_object.linetable);
    DEBUG(code_object.firstlineno);
    DEBUG(code_object.co_code_adaptive);
    DEBUG(pyobject.size);
    DEBUG(pyobject.ob_type);
    DEBUG(type_object.size);
    DEBUG(type_object.tp_name);
    DEBUG(type_object.tp_flags);
    DEBUG(bytes_object.size);
    DEBUG(bytes_object.ob_size);
    DEBUG(bytes_object.ob_sval);
    DEBUG(unicode_object.size);
    DEBUG(unicode_object.state);
    DEBUG(unicode_object.length);
    DEBUG(unicode_object.asciiobject_size);
#endif
    return 0;
}
