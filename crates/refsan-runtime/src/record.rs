//! Writes what was seen into the trace.

use refsan_interpreter::{Ending, Frame, Thread, ThreadVisitor, for_each_thread, object_type_name};
use refsan_trace::layout::{
    self, Event, PythonFrameEntry, PythonStackRecord, Registers, StackRecord, ThreadEntry,
    event_flags, record_kind, thread_state,
};
use refsan_trace::{SiteKey, Writer};
use zerocopy::{FromZeros, IntoBytes};

use crate::interpreter::Interpreter;
use crate::memory::{self, OwnMemory};
use crate::state::{self, Watched};
use crate::{process, thread};

/// An object that is being released.
pub struct Object {
    pub address: u64,
    /// Its reference count; `None` where it cannot be read.
    pub references: Option<i64>,
    /// The release is of the last one.
    pub is_last: bool,
}

/// What is wrong with a call.
pub struct Fault {
    /// [`layout::event_kind`].
    pub kind: u8,
    /// [`layout::life`].
    pub life: u8,
    pub registers: Registers,
    pub object: Option<Object>,
}

/// Records a fault of the calling thread.
pub fn fault(watched: &'static Watched, module: u32, slot: u32, fault: Fault) {
    let local = thread::current();
    let Some(_recording) = local.record() else {
        return;
    };
    let Some(mut event) = begin(watched, module, slot, &fault) else {
        return;
    };
    let interpreter = &watched.interpreter;
    event.tid = local.tid();
    event.thread_name = thread::name();
    event.own_tstate = interpreter.own();
    event.current_tstate = interpreter.current();
    if event.own_tstate != 0 {
        event.thread_state = thread_state::DETACHED;
    }
    if let Some(detach) = local.detach() {
        event.flags |= event_flags::HAS_DETACH;
        event.detach_module = detach.module;
        event.detach_slot = detach.slot;
        event.detach_return_address = detach.return_address;
    }
    if let Some(object) = &fault.object {
        let last = if object.is_last {
            event_flags::LAST_REFERENCE
        } else {
            0
        };
        event.flags |= event_flags::HAS_OBJECT | last;
        event.object = object.address;
        event.reference_count = object.references.unwrap_or(-1);
        name_type(interpreter, object.address, &mut event.type_name);
    }
    finish(watched, event, &fault);
}

#[inline(never)]
fn name_type(interpreter: &Interpreter, object: u64, field: &mut [u8]) {
    // One less than the field, which ends with a zero byte.
    let mut name = [0; 95];
    let objects = &interpreter.layout.objects;
    if let Some(name) = object_type_name(&OwnMemory, objects, object, &mut name) {
        layout::set_text(field, name.as_bytes());
    }
}

/// Records a fault of a thread that stands still inside a call.
pub fn fault_of_other_thread(watched: &'static Watched, entry: &ThreadEntry, fault: Fault) {
    let Some(_recording) = thread::current().record() else {
        return;
    };
    let Some(mut event) = begin(watched, entry.module, entry.slot, &fault) else {
        return;
    };
    event.tid = entry.tid;
    event.thread_name = entry.name;
    event.own_tstate = entry.tstate;
    event.thread_state = thread_state::DETACHED;
    finish(watched, event, &fault);
}

/// Counts the fault; an event for the first few of a site.
fn begin(watched: &Watched, module: u32, slot: u32, fault: &Fault) -> Option<Event> {
    let writer = &watched.writer;
    let time = process::now();
    match fault.life {
        layout::life::FINALIZING => writer.saw_finalizing(time),
        layout::life::FINALIZED => writer.saw_finalized(time),
        _ => {}
    }
    let key = SiteKey {
        return_address: fault.registers.rip,
        module,
        slot,
        kind: fault.kind,
        life: fault.life,
    };
    let samples = state::state().map_or(1, |state| state.options.samples);
    if writer.count_fault(key)? >= samples {
        return None;
    }
    let mut event = Event::new_zeroed();
    event.sequence = writer.next_sequence();
    event.time = time;
    event.module = module;
    event.slot = slot;
    event.kind = fault.kind;
    event.life = fault.life;
    event.return_address = fault.registers.rip;
    Some(event)
}

fn finish(watched: &Watched, mut event: Event, fault: &Fault) {
    let pid = rustix::process::getpid()
        .as_raw_nonzero()
        .get()
        .cast_unsigned();
    if event.tid == pid {
        event.flags |= event_flags::MAIN_THREAD;
    }
    watched
        .writer
        .append(record_kind::EVENT, &[event.as_bytes()]);
    let options = state::state().map(|state| &state.options);
    stack(
        &watched.writer,
        event.sequence,
        fault.registers,
        options.map_or(4096, |options| options.stack_bytes),
    );
    if options.is_some_and(|options| options.python_stacks)
        && event.life != layout::life::FINALIZED
        && (event.tid == pid || has_stack_left())
    {
        python_stacks(watched, event.sequence);
    }
    if options.is_some_and(|options| options.halt_on_error) {
        // SAFETY: asked for by the user.
        unsafe { libc::abort() };
    }
}

/// Whether the thread's stack has room for the walk over Python stacks. Threads can be made with
/// little more than 16 KiB. (The first thread's stack grows when it is touched.)
fn has_stack_left() -> bool {
    const NEEDED: u64 = 24 * 1024;
    let here = 0_u8;
    memory::word((&raw const here as u64).wrapping_sub(NEEDED) & !7).is_some()
}

/// Copies the top of the stack.
#[inline(never)]
fn stack(writer: &Writer, sequence: u64, registers: Registers, limit: usize) {
    let length = memory::readable(registers.rsp, limit);
    let record = StackRecord {
        sequence,
        registers,
        start: registers.rsp,
        length: length as u64,
    };
    let size = size_of::<StackRecord>() + length;
    writer.append_with(record_kind::STACK, size, |body| {
        let (head, tail) = body.split_at_mut(size_of::<StackRecord>());
        head.copy_from_slice(record.as_bytes());
        memory::read_prefix(registers.rsp, tail);
    });
}

/// Threads whose Python stacks are recorded with one event.
const THREADS: u32 = 32;
/// Frames of the event's own thread, and of any other one.
const OWN_FRAMES: u32 = 64;
const OTHER_FRAMES: u32 = 24;
/// Bytes of frames of one thread.
const TEXT: usize = 6 * 1024;

// Its buffer must not be part of the frame of a caller that may have to do without.
#[inline(never)]
fn python_stacks(watched: &Watched, sequence: u64) {
    let Interpreter {
        layout, runtime, ..
    } = &watched.interpreter;
    let mut writer = StackWriter {
        writer: &watched.writer,
        record: PythonStackRecord::new_zeroed(),
        own: thread::pthread_self(),
        threads: 0,
        text: [0; TEXT],
        used: 0,
    };
    writer.record.sequence = sequence;
    for_each_thread(&OwnMemory, layout, *runtime, &mut writer);
}

struct StackWriter<'w> {
    writer: &'w Writer,
    record: PythonStackRecord,
    own: u64,
    threads: u32,
    text: [u8; TEXT],
    used: usize,
}

impl ThreadVisitor for StackWriter<'_> {
    fn thread(&mut self, thread: &Thread) -> u32 {
        self.threads += 1;
        let is_own = thread.thread_id == self.own;
        self.record.thread_id = thread.thread_id;
        self.record.native_thread_id = thread.native_thread_id.unwrap_or(0) as u32;
        self.record.is_event_thread = is_own.into();
        self.record.frames = 0;
        self.record.truncated = 0;
        self.used = 0;
        match (is_own, self.threads) {
            (true, _) => OWN_FRAMES,
            (false, ..=THREADS) => OTHER_FRAMES,
            (false, _) => 0,
        }
    }

    fn frame(&mut self, frame: &Frame<'_>) {
        let (file, function) = (frame.filename.as_bytes(), frame.function.as_bytes());
        let entry = PythonFrameEntry {
            line: frame.line,
            file_length: file.len() as u16,
            function_length: function.len() as u16,
        };
        let size = (size_of_val(&entry) + file.len() + function.len()).next_multiple_of(4);
        let Some(place) = self.text.get_mut(self.used..self.used + size) else {
            self.record.truncated = 1;
            return;
        };
        place.fill(0);
        let mut at = 0;
        for part in [entry.as_bytes(), file, function] {
            if let Some(place) = place.get_mut(at..at + part.len()) {
                place.copy_from_slice(part);
            }
            at += part.len();
        }
        self.used += size;
        self.record.frames += 1;
    }

    fn frames_end(&mut self, ending: Ending) {
        if ending != Ending::Complete {
            self.record.truncated = 1;
        }
        let text = self.text.get(..self.used).unwrap_or_default();
        self.writer
            .append(record_kind::PYTHON_STACK, &[self.record.as_bytes(), text]);
    }
}
