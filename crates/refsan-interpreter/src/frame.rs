//! The frames of one thread, innermost first.

use crate::chain::{Chain, Step};
use crate::code::CodeType;
use crate::layout::{FramePointer, Layout, Position};
use crate::memory::{Memory, Window, aligned, read_u64};
use crate::thread::Ending;

/// Frames looked at and not shown in one walk: no program has more entries from C in a row.
const SKIPPED: u32 = 4096;
/// A generator's frame is complete from its start (`FRAME_OWNED_BY_GENERATOR`).
const GENERATOR: u8 = 1;
/// From here on frames stand for entries from C and have no Python code (3.12+).
const FIRST_SHIM: u8 = 3;
/// Low bits of a tagged reference (3.14+); in a plain pointer they are clear.
const TAG: u64 = 3;

/// One call of a Python function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'t> {
    /// File of the code, or its end after an ellipsis when it is very long; empty when unreadable.
    pub filename: &'t str,
    /// Qualified name of the function (3.11+), else its name; empty when unreadable.
    pub function: &'t str,
    /// Line, from 1; 0 when unknown.
    pub line: u32,
}

/// Where a frame is in its code.
enum Progress {
    /// Before its first line, or no Python code: not shown.
    Hidden,
    /// At this byte offset, if it is known.
    At(Option<i64>),
}

/// Hands the innermost `limit` frames of the thread state at `thread_state` to `visit`.
pub fn for_each_frame<M: Memory + ?Sized>(
    memory: &M,
    layout: &Layout,
    thread_state: u64,
    limit: u32,
    visit: &mut dyn FnMut(&Frame<'_>),
) -> Ending {
    let Some(mut next) = innermost(memory, layout, thread_state) else {
        return Ending::Unreadable;
    };
    let mut chain = Chain::new(limit.saturating_add(SKIPPED));
    let mut code_type = CodeType::unknown();
    let mut shown = 0_u32;
    loop {
        let address = match chain.step(next) {
            Step::Visit(address) => address,
            Step::End => return Ending::Complete,
            Step::Broken => return Ending::Unreadable,
        };
        let Some(frame) = RawFrame::read(memory, layout, address) else {
            return Ending::Unreadable;
        };
        next = frame.previous;
        if frame.shim {
            continue;
        }
        let Some(code) = code_type.read(memory, layout, frame.code) else {
            return Ending::Unreadable;
        };
        let progress = match frame.position {
            RawPosition::Offset(offset) => Progress::At(Some(offset)),
            RawPosition::Address {
                instruction,
                generator,
                copy,
            } => {
                let start = code.instructions(memory, layout, copy);
                let offset = start.and_then(|start| {
                    0_i64
                        .checked_add_unsigned(instruction)?
                        .checked_sub_unsigned(start)
                });
                match (offset, code.first_traceable(layout)) {
                    (Some(offset), Some(first)) if !generator && offset < first => Progress::Hidden,
                    _ => Progress::At(offset),
                }
            }
        };
        let Progress::At(offset) = progress else {
            continue;
        };
        if shown >= limit {
            return Ending::Limit;
        }
        code.describe(memory, layout, offset, visit);
        shown = shown.saturating_add(1);
    }
}

/// The innermost frame, 0 when the thread runs no Python; None when it cannot be read.
fn innermost<M: Memory + ?Sized>(memory: &M, layout: &Layout, thread_state: u64) -> Option<u64> {
    let thread_state = aligned(thread_state)?;
    match layout.thread_state.frame {
        FramePointer::Field(field) => read_u64(memory, thread_state.checked_add(field)?),
        FramePointer::Indirect { cframe, current } => {
            let cframe = aligned(read_u64(memory, thread_state.checked_add(cframe)?)?)?;
            read_u64(memory, cframe.checked_add(current)?)
        }
    }
}

struct RawFrame {
    previous: u64,
    code: u64,
    shim: bool,
    position: RawPosition,
}

enum RawPosition {
    Offset(i64),
    Address {
        instruction: u64,
        generator: bool,
        copy: Option<u32>,
    },
}

impl RawFrame {
    /// None when no frame can be at `address`.
    fn read<M: Memory + ?Sized>(memory: &M, layout: &Layout, address: u64) -> Option<Self> {
        let fields = &layout.frame;
        let extent = match fields.position {
            Position::Index { lasti, .. } => lasti.checked_add(4)?,
            Position::Address { owner, .. } => owner.checked_add(1)?,
        };
        let window = Window::<128>::read(memory, address, extent)?;
        let (shim, position) = match fields.position {
            Position::Index { lasti, unit } => {
                let offset = i64::from(window.i32(lasti)?).checked_mul(unit.cast_signed())?;
                (false, RawPosition::Offset(offset))
            }
            Position::Address {
                instruction,
                owner,
                last_owner,
                bytecode_index,
            } => {
                let owner = window.u8(owner).filter(|owner| *owner <= last_owner)?;
                let copy = match bytecode_index {
                    Some(field) => Some(window.u32(field)?),
                    None => None,
                };
                let instruction = window.u64(instruction)?;
                let generator = owner == GENERATOR;
                (
                    owner >= FIRST_SHIM,
                    RawPosition::Address {
                        instruction,
                        generator,
                        copy,
                    },
                )
            }
        };
        Some(Self {
            previous: window.u64(fields.previous)?,
            code: window.u64(fields.code)? & !TAG,
            shim,
            position,
        })
    }
}
