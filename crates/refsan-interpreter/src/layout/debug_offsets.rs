//! 3.13+ describe themselves: `_Py_DebugOffsets`, the first member of `_PyRuntime`.
//!
//! The description itself grows with every minor version, so where each of its words sits is
//! tabulated here, and everything it says is checked before it is believed.

use super::{
    BodyLayout, CodeLayout, FrameLayout, FramePointer, InterpreterLayout, Layout, LineFormat,
    ObjectLayout, Position, ThreadStateLayout, Unsupported,
};
use crate::memory::{Memory, read_u64};
use crate::version::Version;

const COOKIE: u64 = u64::from_le_bytes(*b"xdebugpy");
const VERSION: u64 = 8;
const FREE_THREADED: u64 = 16;
const RUNTIME: u64 = 24;
const RUNTIME_INTERPRETERS: u64 = 40;
const INTERPRETER: u64 = 48;
/// No structure of an interpreter is larger; `_PyRuntime` holds the main one.
const LARGEST: u64 = 1 << 24;

/// Where the words that differ sit. Those of a group follow each other; a group starts with the
/// size of its structure.
struct Places {
    thread_state: u64,
    thread_id: u64,
    frame: u64,
    bytecode_index: Option<u64>,
    code: u64,
    copies: Option<u64>,
    object: u64,
    bytes: u64,
    string: u64,
}

fn places(minor: u8) -> Places {
    match minor {
        13 => Places {
            thread_state: 152,
            thread_id: 192,
            frame: 224,
            bytecode_index: None,
            code: 272,
            copies: None,
            object: 352,
            bytes: 512,
            string: 536,
        },
        14 => Places {
            thread_state: 176,
            thread_id: 216,
            frame: 248,
            bytecode_index: Some(304),
            code: 312,
            copies: Some(392),
            object: 400,
            bytes: 592,
            string: 616,
        },
        _ => Places {
            thread_state: 176,
            thread_id: 240,
            frame: 312,
            bytecode_index: Some(368),
            code: 376,
            copies: Some(456),
            object: 464,
            bytes: 688,
            string: 712,
        },
    }
}

/// Reads words of the description.
struct Reader<'m, M: ?Sized> {
    memory: &'m M,
    base: u64,
}

impl<M: Memory + ?Sized> Reader<'_, M> {
    fn word(&self, place: u64) -> Result<u64, Unsupported> {
        let address = self.base.wrapping_add(place);
        read_u64(self.memory, address).ok_or(Unsupported::Unreadable(address))
    }

    /// The size at the start of a group.
    fn size(&self, group: u64, field: &'static str) -> Result<u64, Unsupported> {
        let found = self.word(group)?;
        if found > LARGEST {
            return Err(Unsupported::Offset {
                field,
                found,
                expected: LARGEST,
            });
        }
        Ok(found)
    }

    /// An offset that must leave room for a field of `width` bytes below `size`.
    fn offset(
        &self,
        place: u64,
        field: &'static str,
        (size, width): (u64, u64),
    ) -> Result<u64, Unsupported> {
        let found = self.word(place)?;
        match found.checked_add(width) {
            Some(end) if end <= size => Ok(found),
            _ => Err(Unsupported::Offset {
                field,
                found,
                expected: size,
            }),
        }
    }

    /// An offset that the version fixes.
    fn equal(&self, place: u64, field: &'static str, expected: u64) -> Result<(), Unsupported> {
        let found = self.word(place)?;
        if found == expected {
            Ok(())
        } else {
            Err(Unsupported::Offset {
                field,
                found,
                expected,
            })
        }
    }
}

pub(super) fn read<M: Memory + ?Sized>(
    version: Version,
    objects: ObjectLayout,
    memory: &M,
    runtime_address: u64,
) -> Result<Layout, Unsupported> {
    let reader = Reader {
        memory,
        base: runtime_address,
    };
    check_identity(&reader, version)?;
    let places = places(version.minor());
    check_objects(&reader, &places, &objects)?;
    let runtime = reader.size(RUNTIME, "the size of the runtime")?;
    Ok(Layout {
        version,
        objects,
        thread_state: thread_state(&reader, &places)?,
        runtime_interpreters: reader.offset(
            RUNTIME_INTERPRETERS,
            "runtime_state.interpreters_head",
            (runtime, 8),
        )?,
        interpreter: interpreter(&reader)?,
        frame: frame(&reader, &places, version)?,
        code: code(&reader, &places, version)?,
    })
}

fn check_identity<M: Memory + ?Sized>(
    reader: &Reader<'_, M>,
    version: Version,
) -> Result<(), Unsupported> {
    let found = reader.word(0)?;
    if found != COOKIE {
        return Err(Unsupported::Cookie {
            address: reader.base,
            found,
        });
    }
    let found = reader.word(VERSION)?;
    if found != u64::from(version.hex()) {
        return Err(Unsupported::OtherVersion {
            expected: version.hex(),
            found,
        });
    }
    let (expected, found) = (
        u64::from(version.is_free_threaded()),
        reader.word(FREE_THREADED)?,
    );
    if found != expected {
        return Err(Unsupported::OtherBuild { expected, found });
    }
    Ok(())
}

fn check_objects<M: Memory + ?Sized>(
    reader: &Reader<'_, M>,
    places: &Places,
    objects: &ObjectLayout,
) -> Result<(), Unsupported> {
    reader.equal(places.object + 8, "pyobject.ob_type", objects.ob_type)?;
    reader.equal(places.object + 24, "type_object.tp_name", objects.tp_name)?;
    reader.equal(places.object + 40, "type_object.tp_flags", objects.tp_flags)?;
    reader.equal(places.bytes + 8, "bytes_object.ob_size", objects.bytes_size)?;
    reader.equal(
        places.bytes + 16,
        "bytes_object.ob_sval",
        objects.bytes_data,
    )?;
    reader.equal(
        places.string + 8,
        "unicode_object.state",
        objects.string_state,
    )?;
    reader.equal(
        places.string + 16,
        "unicode_object.length",
        objects.string_length,
    )?;
    let size = objects.ascii_string_size;
    reader.equal(places.string + 24, "unicode_object.asciiobject_size", size)
}

fn thread_state<M: Memory + ?Sized>(
    reader: &Reader<'_, M>,
    places: &Places,
) -> Result<ThreadStateLayout, Unsupported> {
    let at = places.thread_state;
    let room = (reader.size(at, "the size of a thread state")?, 8);
    let frame = reader.offset(at + 32, "thread_state.current_frame", room)?;
    let native = reader.offset(places.thread_id + 8, "thread_state.native_thread_id", room)?;
    Ok(ThreadStateLayout {
        interp: reader.offset(at + 24, "thread_state.interp", room)?,
        thread_id: reader.offset(places.thread_id, "thread_state.thread_id", room)?,
        native_thread_id: Some(native),
        next: reader.offset(at + 16, "thread_state.next", room)?,
        frame: FramePointer::Field(frame),
    })
}

fn interpreter<M: Memory + ?Sized>(
    reader: &Reader<'_, M>,
) -> Result<InterpreterLayout, Unsupported> {
    let at = INTERPRETER;
    let room = (reader.size(at, "the size of an interpreter")?, 8);
    Ok(InterpreterLayout {
        id: reader.offset(at + 8, "interpreter_state.id", room)?,
        next: reader.offset(at + 16, "interpreter_state.next", room)?,
        threads: reader.offset(at + 24, "interpreter_state.threads_head", room)?,
    })
}

fn frame<M: Memory + ?Sized>(
    reader: &Reader<'_, M>,
    places: &Places,
    version: Version,
) -> Result<FrameLayout, Unsupported> {
    let at = places.frame;
    let size = reader.size(at, "the size of a frame")?;
    let bytecode_index = match places.bytecode_index {
        Some(place) if version.is_free_threaded() => {
            Some(reader.offset(place, "interpreter_frame.tlbc_index", (size, 4))?)
        }
        _ => None,
    };
    Ok(FrameLayout {
        previous: reader.offset(at + 8, "interpreter_frame.previous", (size, 8))?,
        code: reader.offset(at + 16, "interpreter_frame.executable", (size, 8))?,
        position: Position::Address {
            instruction: reader.offset(at + 24, "interpreter_frame.instr_ptr", (size, 8))?,
            owner: reader.offset(at + 40, "interpreter_frame.owner", (size, 1))?,
            last_owner: if version.minor() == 14 { 4 } else { 3 },
            bytecode_index,
        },
    })
}

fn code<M: Memory + ?Sized>(
    reader: &Reader<'_, M>,
    places: &Places,
    version: Version,
) -> Result<CodeLayout, Unsupported> {
    let at = places.code;
    // The instructions, of no fixed number, follow the rest.
    let size = reader.size(at, "the size of a code object")?;
    let instructions = reader.offset(at + 72, "code_object.co_code_adaptive", (size, 0))?;
    let room = (instructions, 8);
    let copies = match places.copies {
        Some(place) if version.is_free_threaded() => {
            Some(reader.offset(place, "code_object.co_tlbc", room)?)
        }
        _ => None,
    };
    // `_co_firsttraceable`, which is not described, stands before `co_extra`, which is the last
    // pointer before the copies or the instructions.
    let end = copies.unwrap_or(instructions);
    let first_traceable = end.checked_sub(16).ok_or(Unsupported::Offset {
        field: "code_object.co_code_adaptive",
        found: end,
        expected: size,
    })?;
    Ok(CodeLayout {
        filename: reader.offset(at + 8, "code_object.filename", room)?,
        function: reader.offset(at + 24, "code_object.qualname", room)?,
        first_line: reader.offset(at + 40, "code_object.firstlineno", (instructions, 4))?,
        lines: reader.offset(at + 32, "code_object.linetable", room)?,
        format: LineFormat::Locations,
        body: Some(BodyLayout {
            first_traceable,
            instructions,
            copies,
        }),
    })
}
