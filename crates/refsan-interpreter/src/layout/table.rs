//! 3.8 to 3.12, which do not describe themselves.
//!
//! One row a minor version: printed from the headers of 3.8.18, 3.9.18, 3.10.13, 3.11.7 and 3.12.1.
//! They do not vary within a minor version: frames, code and thread states were compared with
//! published tables for 3.8.0-18, 3.9.0-18, 3.10.0-13, 3.11.0-8 and 3.12.0-2, and all structures
//! with bindings generated from 3.8.0, 3.9.5, 3.10.0, 3.11.0 and 3.12.0. These structures are part of
//! the ABI that a minor version keeps after its first release candidate.

use super::{
    BodyLayout, CodeLayout, FrameLayout, FramePointer, InterpreterLayout, Layout, LineFormat,
    ObjectLayout, Position, ThreadStateLayout,
};
use crate::version::Version;

pub(super) fn of(version: Version, objects: ObjectLayout) -> Option<Layout> {
    let minor = version.minor();
    let (runtime_interpreters, interpreter) = match minor {
        8 => (
            32,
            InterpreterLayout {
                id: 16,
                next: 0,
                threads: 8,
            },
        ),
        9 | 10 => (
            32,
            InterpreterLayout {
                id: 24,
                next: 0,
                threads: 8,
            },
        ),
        11 => (
            40,
            InterpreterLayout {
                id: 48,
                next: 0,
                threads: 16,
            },
        ),
        12 => (
            40,
            InterpreterLayout {
                id: 8,
                next: 0,
                threads: 72,
            },
        ),
        _ => return None,
    };
    let (thread_id, native_thread_id, frame) = match minor {
        ..=10 => (176, None, FramePointer::Field(24)),
        11 => (
            152,
            Some(160),
            FramePointer::Indirect {
                cframe: 56,
                current: 8,
            },
        ),
        _ => (
            136,
            Some(144),
            FramePointer::Indirect {
                cframe: 56,
                current: 0,
            },
        ),
    };
    Some(Layout {
        version,
        objects,
        thread_state: ThreadStateLayout {
            interp: 16,
            thread_id,
            native_thread_id,
            next: 8,
            frame,
        },
        runtime_interpreters,
        interpreter,
        frame: frame_of(minor),
        code: code_of(minor),
    })
}

fn frame_of(minor: u8) -> FrameLayout {
    let index = |lasti, unit| FrameLayout {
        previous: 24,
        code: 32,
        position: Position::Index { lasti, unit },
    };
    let address = |owner, last_owner| Position::Address {
        instruction: 56,
        owner,
        last_owner,
        bytecode_index: None,
    };
    match minor {
        8 | 9 => index(104, 1),
        10 => index(96, 2),
        11 => FrameLayout {
            previous: 48,
            code: 32,
            position: address(69, 2),
        },
        _ => FrameLayout {
            previous: 8,
            code: 0,
            position: address(70, 3),
        },
    }
}

fn code_of(minor: u8) -> CodeLayout {
    let body = |first_traceable, instructions| BodyLayout {
        first_traceable,
        instructions,
        copies: None,
    };
    let (format, body) = match minor {
        8 | 9 => (LineFormat::Increments, None),
        10 => (LineFormat::Ranges, None),
        11 => (LineFormat::Locations, Some(body(168, 184))),
        _ => (LineFormat::Locations, Some(body(176, 192))),
    };
    let (filename, function, first_line, lines) = match minor {
        ..=10 => (104, 112, 40, 120),
        11 => (112, 128, 72, 136),
        _ => (112, 128, 68, 136),
    };
    CodeLayout {
        filename,
        function,
        first_line,
        lines,
        format,
        body,
    }
}
