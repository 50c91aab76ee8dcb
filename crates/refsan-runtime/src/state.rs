//! What the whole process shares, made once and never destroyed.

use alloc::boxed::Box;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use refsan_trace::Writer;

use crate::interpreter::Interpreter;
use crate::modules::Modules;
use crate::options::Options;

/// The interpreter that is watched and where it is recorded.
pub struct Watched {
    pub interpreter: Interpreter,
    pub writer: Writer,
}

/// The process.
pub struct State {
    pub options: Options,
    pub modules: Locked<Modules>,
}

static STATE: AtomicPtr<State> = AtomicPtr::new(core::ptr::null_mut());
static WATCHED: AtomicPtr<Watched> = AtomicPtr::new(core::ptr::null_mut());

/// The process's state; `None` before the constructor has run.
pub fn state() -> Option<&'static State> {
    // SAFETY: null or a leaked box.
    unsafe { STATE.load(Ordering::Acquire).as_ref() }
}

/// The watched interpreter; `None` as long as there is none.
pub fn watched() -> Option<&'static Watched> {
    // SAFETY: null or a leaked box.
    unsafe { WATCHED.load(Ordering::Acquire).as_ref() }
}

/// The same for the child's side of a fork, which has one thread and rewrites the trace.
///
/// # Safety
/// Only in a forked child, with no other reference alive.
pub unsafe fn watched_mut() -> Option<&'static mut Watched> {
    // SAFETY: null or a leaked box; exclusiveness is the caller's promise.
    unsafe { WATCHED.load(Ordering::Acquire).as_mut() }
}

pub fn set_state(state: State) {
    STATE.store(Box::leak(Box::new(state)), Ordering::Release);
}

pub fn set_watched(watched: Watched) {
    WATCHED.store(Box::leak(Box::new(watched)), Ordering::Release);
}

/// A value behind a spin lock. It is held for short work on modules only, never in a hook of the
/// C-API.
pub struct Locked<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is only reached by the thread that has taken the lock.
unsafe impl<T: Send> Sync for Locked<T> {}

impl<T> Locked<T> {
    pub fn new(value: T) -> Self {
        Locked {
            taken: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Takes the lock. The thread that takes it must not ask again.
    pub fn take(&self) {
        while self.taken.swap(true, Ordering::Acquire) {
            rustix::thread::sched_yield();
        }
    }

    pub fn release(&self) {
        self.taken.store(false, Ordering::Release);
    }

    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        self.take();
        // SAFETY: this thread has the lock.
        let result = work(unsafe { &mut *self.value.get() });
        self.release();
        result
    }
}
