//! What was recorded is kept and counted right, however the process ends and however fast the
//! faults come.

use std::path::{Path, PathBuf};
use std::process::Command;

use refsan_testkit::Interpreter;

/// A function that only reads may be called without a thread state on every version: so the
/// program lives, and the faults can be counted.
const EXTENSION: &str = r#"
#include <Python.h>
#include <pthread.h>

struct work { PyObject *list; long times; };

static void *read_size(void *argument)
{
    struct work *work = argument;
    for (long i = 0; i < work->times; i++)
        PyList_Size(work->list);
    return NULL;
}

static PyObject *fault(PyObject *module, PyObject *arguments)
{
    long threads, times, stack = 0;
    if (!PyArg_ParseTuple(arguments, "ll|l", &threads, &times, &stack) || threads > 64)
        return NULL;
    struct work work = {PyList_New(0), times};
    pthread_t started[64];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack)
        pthread_attr_setstacksize(&attributes, stack);
    Py_BEGIN_ALLOW_THREADS
    for (long i = 0; i < threads; i++)
        pthread_create(&started[i], &attributes, read_size, &work);
    for (long i = 0; i < threads; i++)
        pthread_join(started[i], NULL);
    Py_END_ALLOW_THREADS
    Py_DECREF(work.list);
    Py_RETURN_NONE;
}

/* Threads that nobody waits for: they are still at it when the process ends. */
static PyObject *fault_until_the_end(PyObject *module, PyObject *unused)
{
    static struct work work = {NULL, 1L << 60};
    work.list = PyList_New(0);
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, read_size, &work);
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"fault", fault, METH_VARARGS, NULL},
    {"fault_until_the_end", fault_until_the_end, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "faulty", NULL, -1, methods, NULL, NULL, NULL, NULL};
PyMODINIT_FUNC PyInit_faulty(void) { return PyModule_Create(&definition); }
"#;

struct Workshop {
    directory: tempfile::TempDir,
    python: PathBuf,
}

impl Workshop {
    /// Builds the extension; `None`, with a word, where that is not possible.
    fn open() -> Option<Workshop> {
        let mut buildable = Interpreter::all()
            .iter()
            .filter(|one| !one.include.is_empty() && !one.free_threaded);
        let Some(interpreter) = buildable.next_back() else {
            println!("skipped: no interpreter with headers was found");
            return None;
        };
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("faulty.c");
        std::fs::write(&source, EXTENSION).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-g", "-fPIC", "-shared", "-pthread", "-o"]);
        compiler
            .arg(directory.path().join("faulty.so"))
            .arg(&source);
        for include in &interpreter.include {
            compiler.arg("-I").arg(include);
        }
        match compiler.output() {
            Ok(output) if output.status.success() => Some(Workshop {
                directory,
                python: interpreter.path.clone(),
            }),
            other => {
                println!("skipped: the extension cannot be built here: {other:?}");
                None
            }
        }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Runs Python code under refsan. The status, and the report.
    fn run(&self, code: &str) -> (Option<i32>, serde_json::Value) {
        let report = self.path().join("report.json");
        let output = Command::new(env!("CARGO_BIN_EXE_refsan"))
            .args(["run", "--force", "--trace-dir"])
            .arg(self.path().join("traces"))
            .arg("--format")
            .arg(format!("json={}", report.display()))
            .arg("--")
            .arg(&self.python)
            .args(["-c", code])
            .env("PYTHONPATH", self.path())
            .env_remove("REFSAN_OPTIONS")
            .output()
            .unwrap();
        let text = std::fs::read_to_string(&report).unwrap_or_else(|error| {
            panic!(
                "no report ({error}): {}",
                String::from_utf8_lossy(&output.stderr)
            )
        });
        let report = serde_json::from_str(&text).unwrap();
        assert_fits_schema(&report);
        (output.status.code(), report)
    }
}

/// What users' tools rely on.
fn assert_fits_schema(report: &serde_json::Value) {
    let schema = include_str!("../../../schemas/finding-v1.json");
    let schema = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(report)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(errors, [""; 0]);
}

/// How often the fault was seen, in all processes.
fn count(report: &serde_json::Value) -> u64 {
    let findings = report["findings"].as_array().unwrap();
    let of_rule = findings.iter().filter(|finding| finding["rule"] == "RS102");
    of_rule
        .map(|finding| finding["count"].as_u64().unwrap())
        .sum()
}

#[test]
fn however_the_process_ends_the_fault_is_kept() {
    let Some(workshop) = Workshop::open() else {
        return;
    };
    for (end, status) in [
        ("pass", 66),
        ("os._exit(0)", 66),
        ("os._exit(7)", 7),
        ("os.kill(os.getpid(), 9)", 128 + 9),
        ("os.abort()", 128 + 6),
        ("ctypes.string_at(0)", 128 + 11),
    ] {
        let code = format!("import ctypes, os, faulty; faulty.fault(1, 5); {end}");
        let (seen, report) = workshop.run(&code);
        assert_eq!((seen, count(&report)), (Some(status), 5), "{end}");
        let stacks = report["findings"][0]["stacks"].to_string();
        assert!(stacks.contains("read_size"), "{stacks}");
    }
}

#[test]
fn faults_that_come_fast_and_from_many_threads_are_counted_to_the_last() {
    let Some(workshop) = Workshop::open() else {
        return;
    };
    let (status, report) = workshop.run("import faulty; faulty.fault(8, 20000)");
    assert_eq!((status, count(&report)), (Some(66), 160_000));
    let process = &report["coverage"]["processes"][0];
    assert_eq!(process["dropped"], 0);
    assert_eq!(report["findings"].as_array().unwrap().len(), 1);
}

#[test]
fn every_process_keeps_its_own_trace() {
    let Some(workshop) = Workshop::open() else {
        return;
    };
    let code = "
import os, subprocess, sys, faulty
faulty.fault(1, 1)
children = []
for number in range(3):
    child = os.fork()
    if child == 0:
        faulty.fault(1, 10)
        os.kill(os.getpid(), 9)
    children.append(child)
for child in children:
    os.waitpid(child, 0)
subprocess.run([sys.executable, '-c', 'import faulty; faulty.fault(2, 50)'], check=True)
faulty.fault(1, 1)
";
    let (status, report) = workshop.run(code);
    assert_eq!(
        (status, count(&report)),
        (Some(66), 1 + 3 * 10 + 100 + 1),
        "{report:#}"
    );
    assert_eq!(report["coverage"]["processes"].as_array().unwrap().len(), 5);
}

#[test]
fn a_run_can_be_rendered_again_without_the_program() {
    let Some(workshop) = Workshop::open() else {
        return;
    };
    let (_, first) = workshop.run("import faulty; faulty.fault(1, 3)");
    let again = Command::new(env!("CARGO_BIN_EXE_refsan"))
        .args(["report", "--format", "json"])
        .arg(workshop.path().join("traces"))
        .output()
        .unwrap();
    assert_eq!(again.status.code(), Some(1));
    let again: serde_json::Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again, first);
}

#[test]
fn a_sandbox_that_forbids_reading_memory_by_system_call_costs_no_stack() {
    let Some(workshop) = Workshop::open() else {
        return;
    };
    // A seccomp filter: process_vm_readv (310) fails with EPERM, everything else is allowed.
    let code = "
import ctypes, struct, sys
libc = ctypes.CDLL(None)
filters = [(0x20, 0, 0, 0), (0x15, 0, 1, 310), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
program = ctypes.create_string_buffer(b''.join(struct.pack('HBBI', *line) for line in filters))
class Program(ctypes.Structure):
    _fields_ = [('length', ctypes.c_ushort), ('filters', ctypes.c_void_p)]
wanted = Program(len(filters), ctypes.addressof(program))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(wanted), 0, 0):
    sys.exit(9)
import faulty
faulty.fault(1, 3)
";
    let (status, report) = workshop.run(code);
    if status == Some(9) {
        println!("skipped: no seccomp filters here");
        return;
    }
    assert_eq!((status, count(&report)), (Some(66), 3));
    let stacks = report["findings"][0]["stacks"].to_string();
    assert!(
        stacks.contains("read_size") && stacks.contains("start_thread"),
        "{stacks}"
    );
}

#[test]
fn the_smallest_stack_is_large_enough() {
    let Some(workshop) = Workshop::open() else {
        return;
    };
    // PTHREAD_STACK_MIN
    let (status, report) = workshop.run("import faulty; faulty.fault(4, 100, 16384)");
    assert_eq!((status, count(&report)), (Some(66), 400));
}

#[test]
fn threads_that_record_while_the_process_ends_do_no_harm() {
    let Some(workshop) = Workshop::open() else {
        return;
    };
    for _ in 0..3 {
        let code = "import faulty, time; faulty.fault_until_the_end(); time.sleep(0.02)";
        let (status, report) = workshop.run(code);
        assert_eq!(status, Some(66));
        assert!(count(&report) > 0);
    }
}

#[test]
fn a_child_made_behind_the_c_librarys_back_leaves_its_parents_trace_alone() {
    let Some(workshop) = Workshop::open() else {
        return;
    };
    let code = "
import ctypes, os, sys, faulty
fork = getattr(ctypes.PyDLL(None), '_Fork', None)
if fork is None:
    sys.exit(9)
child = fork()
if child == 0:
    sys.exit(3)
assert os.waitpid(child, 0)[1] >> 8 == 3
faulty.fault(1, 7)
";
    let (status, report) = workshop.run(code);
    if status == Some(9) {
        println!("skipped: this C library has no _Fork");
        return;
    }
    assert_eq!((status, count(&report)), (Some(66), 7));
}

#[test]
fn a_child_that_cannot_be_watched_writes_nothing_into_the_programs_files() {
    let Some(workshop) = Workshop::open() else {
        return;
    };
    // Descriptor 2 is a file of the program's, and the child may not make files of that size.
    let code = "
import os, resource, faulty
faulty.fault(1, 1)
file = os.open('data', os.O_CREAT | os.O_TRUNC | os.O_RDWR)
os.dup2(file, 2)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
os._exit(0 if os.fstat(file).st_size == 0 else 9)
";
    let code = code.replace("'data'", &format!("{:?}", workshop.path().join("data")));
    let (status, report) = workshop.run(&code);
    assert_eq!((status, count(&report)), (Some(66), 1));
}
