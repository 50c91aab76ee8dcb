//! The interpreter of this process: the few functions of it that the runtime calls. All of them are
//! pure reads that need no thread state and stay valid after finalization.

use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use refsan_hook::image::{Dynamic, Image};
use refsan_hook::symbols;
use refsan_hook::thunk::Gate;
use refsan_interpreter::{Layout, Version};

use crate::getter::{self, Place};
use crate::memory::{self, OwnMemory};
use crate::thread;

type Pointer = *mut core::ffi::c_void;

/// The interpreter.
pub struct Interpreter {
    pub version: Version,
    pub layout: Layout,
    /// The address of `_PyRuntime`.
    pub runtime: u64,
    /// How a thunk sees that a thread is attached.
    pub gate: Gate,
    /// The executable itself is the interpreter.
    pub is_static: bool,
    /// The interpreter was loaded after the program's start.
    pub loaded_late: bool,
    current: unsafe extern "C" fn() -> Pointer,
    own: unsafe extern "C" fn() -> Pointer,
    is_initialized: unsafe extern "C" fn() -> c_int,
    is_finalizing: unsafe extern "C" fn() -> c_int,
    head: unsafe extern "C" fn() -> Pointer,
    main: unsafe extern "C" fn() -> Pointer,
    /// The thread that finalizes; 0: not known.
    finalizing_tid: AtomicU32,
    /// The main interpreter, as seen while it lived.
    main_interpreter: AtomicU64,
    /// Thread states may go from thread to thread by calls that nobody sees.
    unseen_handovers: AtomicBool,
}

/// Why an interpreter cannot be watched.
pub enum Unusable {
    /// A function is not exported.
    Missing(&'static str),
    /// The version is outside 3.8 to 3.15, or makes no sense. As the interpreter says it.
    Version(&'static CStr),
    /// Its structures are not known.
    Layout(refsan_interpreter::Unsupported),
}

impl core::fmt::Display for Unusable {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Unusable::Missing(name) => write!(f, "the interpreter does not export {name}"),
            Unusable::Version(text) => {
                let text = text.to_bytes().split(|byte| *byte == b' ').next();
                let version = text.and_then(|text| core::str::from_utf8(text).ok());
                let version = version.unwrap_or("of an unknown version");
                write!(
                    f,
                    "the interpreter is {version}; refsan watches CPython 3.8 to 3.15"
                )
            }
            Unusable::Layout(reason) => write!(f, "{reason}"),
        }
    }
}

/// Whether an image is an interpreter, of whatever version.
pub fn is_interpreter(image: &Image<'_>, dynamic: &Dynamic) -> bool {
    symbols::defined(image, dynamic, "Py_IsInitialized").is_some()
}

impl Interpreter {
    /// Finds the functions in `image` and learns how to tell an attached thread.
    pub fn new(image: &Image<'_>, dynamic: &Dynamic, at_start: bool) -> Result<Self, Unusable> {
        let find = |name| symbols::defined(image, dynamic, name).ok_or(Unusable::Missing(name));
        let either = |first, second| find(first).or_else(|_| find(second));
        type Getter = unsafe extern "C" fn() -> Pointer;
        type Question = unsafe extern "C" fn() -> c_int;
        // SAFETY: these names have had these types in every version from 3.8 on.
        let getter = |address: usize| unsafe { core::mem::transmute::<usize, Getter>(address) };
        // SAFETY: as above.
        let question = |address: usize| unsafe { core::mem::transmute::<usize, Question>(address) };
        // SAFETY: as above.
        let get_version = unsafe {
            core::mem::transmute::<usize, unsafe extern "C" fn() -> *const c_char>(find(
                "Py_GetVersion",
            )?)
        };
        // SAFETY: returns a static string; needs no thread state and no initialization.
        let text: &'static CStr = unsafe { CStr::from_ptr(get_version()) };
        let version = text.to_str().ok().and_then(Version::from_text);
        let version = version
            .filter(|version| version.major() == 3 && (8..=15).contains(&version.minor()))
            .ok_or(Unusable::Version(text))?;
        let runtime = find("_PyRuntime")? as u64;
        let layout = Layout::select(version, &OwnMemory, runtime).map_err(Unusable::Layout)?;
        let current = either("PyThreadState_GetUnchecked", "_PyThreadState_UncheckedGet")?;
        let interpreter = Interpreter {
            version,
            layout,
            runtime,
            gate: gate(current, version, &layout, at_start),
            is_static: image.path.is_empty(),
            loaded_late: !at_start,
            current: getter(current),
            own: getter(find("PyGILState_GetThisThreadState")?),
            is_initialized: question(find("Py_IsInitialized")?),
            is_finalizing: question(either("Py_IsFinalizing", "_Py_IsFinalizing")?),
            head: getter(find("PyInterpreterState_Head")?),
            main: getter(find("PyInterpreterState_Main")?),
            finalizing_tid: AtomicU32::new(0),
            main_interpreter: AtomicU64::new(0),
            unseen_handovers: AtomicBool::new(is_program_of_its_own(image)),
        };
        Ok(interpreter)
    }

    /// The current thread state: of the process (3.8 to 3.11) or of this thread.
    pub fn current(&self) -> u64 {
        // SAFETY: a pure read.
        unsafe { (self.current)() as u64 }
    }

    /// The thread state that belongs to this thread, attached or not; 0: none.
    pub fn own(&self) -> u64 {
        // SAFETY: a pure read.
        unsafe { (self.own)() as u64 }
    }

    pub fn is_initialized(&self) -> bool {
        // SAFETY: a pure read.
        unsafe { (self.is_initialized)() != 0 }
    }

    pub fn is_finalizing(&self) -> bool {
        // SAFETY: a pure read.
        unsafe { (self.is_finalizing)() != 0 }
    }

    /// An interpreter state exists.
    pub fn exists(&self) -> bool {
        // SAFETY: a pure read.
        unsafe { !(self.head)().is_null() }
    }

    /// Whether the calling thread has an attached thread state. Exact from 3.12 on. On earlier
    /// versions the current thread state is the process's, and the question is whose it is.
    pub fn is_attached(&self) -> bool {
        let current = self.current();
        if current == 0 {
            return false;
        }
        if self.version.minor() >= 12 || current == self.own() {
            return true;
        }
        let local = thread::current();
        if local.attached.get() as u64 == current {
            return true;
        }
        let field = |offset| memory::word(current.wrapping_add(offset));
        if field(self.layout.thread_state.thread_id) == Some(thread::pthread_self()) {
            return true;
        }
        if self.unseen_handovers.load(Ordering::Relaxed) {
            return true;
        }
        // A subinterpreter runs its code with a thread state that may have been made on any thread,
        // by calls inside the interpreter that nobody sees: give it the benefit of the doubt.
        field(self.layout.thread_state.interp).is_some_and(|interpreter| interpreter != self.main())
    }

    fn main(&self) -> u64 {
        // SAFETY: a pure read.
        let main = unsafe { (self.main)() as u64 };
        if main != 0 {
            self.main_interpreter.store(main, Ordering::Relaxed);
        }
        self.main_interpreter.load(Ordering::Relaxed)
    }

    /// From now on a current thread state that was made for another thread says nothing: on 3.8 to
    /// 3.11 it may have been handed over. Rather a miss than a false alarm.
    pub fn handovers_are_unseen(&self) {
        self.unseen_handovers.store(true, Ordering::Relaxed);
    }

    /// Remembers that the calling thread is the one that finalizes: it asked for that, or it is
    /// attached meanwhile, which only that one is.
    pub fn saw_finalizing_thread(&self) {
        self.finalizing_tid
            .store(thread::current().tid(), Ordering::Relaxed);
    }

    /// Whether the calling thread is the one that finalizes. Where it was never seen, the process's
    /// first thread is believed to be.
    pub fn is_finalizing_thread(&self) -> bool {
        let tid = thread::current().tid();
        match self.finalizing_tid.load(Ordering::Relaxed) {
            0 => {
                tid == rustix::process::getpid()
                    .as_raw_nonzero()
                    .get()
                    .cast_unsigned()
            }
            known => tid == known,
        }
    }
}

/// Whether the interpreter is linked into a program that is not just Python: that program's own calls
/// of the C-API go through no table.
fn is_program_of_its_own(image: &Image<'_>) -> bool {
    image.path.is_empty() && !crate::process::program_name().starts_with("python")
}

/// How a thunk may see by itself that a thread is attached.
fn gate(current: usize, version: Version, layout: &Layout, at_start: bool) -> Gate {
    // SAFETY: `current` is the getter.
    match unsafe { getter::place(current) } {
        Some(Place::Global(word)) if version.minor() <= 11 => Gate::Owner {
            word,
            field: layout.thread_state.thread_id as usize,
        },
        // Only what is loaded with the program lies at the same offset in every thread.
        Some(Place::ThreadLocal(offset)) if version.minor() >= 12 && at_start => {
            Gate::ThreadWord { offset }
        }
        _ => Gate::Closed,
    }
}
