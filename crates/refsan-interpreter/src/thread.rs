//! All thread states of all interpreters of a process.

use crate::chain::{Chain, Step};
use crate::frame::{Frame, for_each_frame};
use crate::layout::Layout;
use crate::memory::{Memory, Window, aligned, read_u64};

/// More interpreters than any program makes.
const INTERPRETERS: u32 = 4096;
/// More thread states than any interpreter has.
const THREADS: u32 = 1 << 16;

/// A thread state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Address of the `PyThreadState`.
    pub thread_state: u64,
    /// Number of its interpreter; 0 is the main one.
    pub interpreter: i64,
    /// `pthread_self()` of the thread that it was made for.
    pub thread_id: u64,
    /// `gettid()` of that thread; since 3.11. 0 before the thread has started.
    pub native_thread_id: Option<u64>,
}

/// How a walk ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// At the end: everything was visited.
    Complete,
    /// There is more than was asked for.
    Limit,
    /// At something unreadable or impossible: changed meanwhile, or freed.
    Unreadable,
}

/// Is shown the threads and their frames.
pub trait ThreadVisitor {
    /// A thread; answers how many of its frames, the innermost first, are wanted.
    fn thread(&mut self, thread: &Thread) -> u32;
    /// A frame of the last thread.
    fn frame(&mut self, frame: &Frame<'_>);
    /// The last thread has no more frames, or no more are shown. Not called when none were wanted.
    fn frames_end(&mut self, ending: Ending);
}

/// Shows every thread state of the process to `visitor`: interpreters and threads from the newest
/// to the oldest. Before initialization and after finalization there are none.
///
/// Says whether all were visited. Threads that start and end meanwhile may be missed.
pub fn for_each_thread<M: Memory + ?Sized>(
    memory: &M,
    layout: &Layout,
    runtime_address: u64,
    visitor: &mut impl ThreadVisitor,
) -> Ending {
    let head = aligned(runtime_address)
        .and_then(|runtime| runtime.checked_add(layout.runtime_interpreters))
        .and_then(|address| read_u64(memory, address));
    let Some(mut next) = head else {
        return Ending::Unreadable;
    };
    let mut chain = Chain::new(INTERPRETERS);
    let mut ending = Ending::Complete;
    loop {
        let interpreter = match chain.step(next) {
            Step::Visit(interpreter) => interpreter,
            Step::End => return ending,
            Step::Broken => return Ending::Unreadable,
        };
        let field = |offset| read_u64(memory, interpreter.checked_add(offset)?);
        let (Some(after), Some(id), Some(threads)) = (
            field(layout.interpreter.next),
            field(layout.interpreter.id),
            field(layout.interpreter.threads),
        ) else {
            return Ending::Unreadable;
        };
        let list = Threads {
            memory,
            layout,
            interpreter,
            id: id.cast_signed(),
        };
        if list.show(threads, visitor) != Ending::Complete {
            ending = Ending::Unreadable;
        }
        next = after;
    }
}

/// The thread states of one interpreter.
struct Threads<'m, M: ?Sized> {
    memory: &'m M,
    layout: &'m Layout,
    interpreter: u64,
    id: i64,
}

impl<M: Memory + ?Sized> Threads<'_, M> {
    fn show(&self, head: u64, visitor: &mut impl ThreadVisitor) -> Ending {
        let mut chain = Chain::new(THREADS);
        let mut next = head;
        loop {
            let address = match chain.step(next) {
                Step::Visit(address) => address,
                Step::End => return Ending::Complete,
                Step::Broken => return Ending::Unreadable,
            };
            let Some((thread, after)) = self.read(address) else {
                return Ending::Unreadable;
            };
            let limit = visitor.thread(&thread);
            if limit > 0 {
                let mut visit = |frame: &Frame<'_>| visitor.frame(frame);
                let ending = for_each_frame(self.memory, self.layout, address, limit, &mut visit);
                visitor.frames_end(ending);
            }
            next = after;
        }
    }

    /// The thread state at `address` and the address of the next one; None when it is none of this
    /// interpreter's.
    fn read(&self, address: u64) -> Option<(Thread, u64)> {
        let fields = &self.layout.thread_state;
        let extent = fields
            .thread_id
            .max(fields.native_thread_id.unwrap_or(0))
            .checked_add(8)?;
        let window = Window::<512>::read(self.memory, address, extent)?;
        if window.u64(fields.interp)? != self.interpreter {
            return None;
        }
        let native_thread_id = match fields.native_thread_id {
            Some(field) => Some(window.u64(field)?),
            None => None,
        };
        let thread = Thread {
            thread_state: address,
            interpreter: self.id,
            thread_id: window.u64(fields.thread_id)?,
            native_thread_id,
        };
        Some((thread, window.u64(fields.next)?))
    }
}
