//! Walks up a recorded stack.

use std::rc::Rc;

use gimli::X86_64;
use refsan_trace::StackMemory;

use crate::cfi::{self, Caller, Registers};
use crate::code;
use crate::image::Image;

/// Stacks are walked up to this many frames.
pub const FRAME_LIMIT: usize = 256;

/// The addresses of a stack's frames.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unwound {
    /// Return addresses, innermost first; the first is that of the watched call itself. Of an
    /// instruction at which a signal struck it is the address plus one, so that all are looked up
    /// alike.
    pub addresses: Vec<u64>,
    /// The walk ended before the first function of the thread was reached.
    pub truncated: bool,
}

/// Where an address lies.
pub(crate) enum Location {
    /// In a file that can be read; the second is the load bias.
    File(Rc<Image>, u64),
    /// In a module without a file that could be trusted.
    Unreadable,
    /// In no module: code made at run time, or no code at all.
    Nowhere,
}

/// How a frame's caller was found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// The file's unwind information says so.
    Described,
    /// As `Described`, and it is code that a signal interrupted: no call led to it.
    Interrupted,
    /// The frame pointer was followed without knowing that it is one.
    Guessed,
}

/// Walks up the stack; `locate` tells where an address lies.
pub(crate) fn unwind(stack: &StackMemory, mut locate: impl FnMut(u64) -> Location) -> Unwound {
    let mut registers = Registers::of(stack);
    let mut address = stack.registers.rip;
    let mut location = locate(address.wrapping_sub(1));
    let mut unwound = Unwound {
        addresses: vec![address],
        truncated: true,
    };
    while unwound.addresses.len() < FRAME_LIMIT {
        let (caller, trust) = caller(address, &location, &registers, stack);
        registers = match caller {
            Caller::Found(found) => *found,
            Caller::None => {
                unwound.truncated = false;
                break;
            }
            Caller::Unknown => break,
        };
        address = registers.get(X86_64::RA).unwrap_or_default();
        if trust == Trust::Interrupted {
            // Return addresses are looked up one byte before; here the instruction itself counts.
            address = address.wrapping_add(1);
        }
        location = locate(address.wrapping_sub(1));
        if !is_plausible(address, &location, trust) {
            break;
        }
        unwound.addresses.push(address);
    }
    unwound
}

fn caller(
    address: u64,
    location: &Location,
    registers: &Registers,
    stack: &StackMemory,
) -> (Caller, Trust) {
    if let Location::File(image, bias) = location
        && let Some(sections) = image.unwind_sections()
    {
        let looked_up = address.wrapping_sub(*bias).wrapping_sub(1);
        if let Some(entry) = sections.covering(looked_up) {
            let trust = if entry.is_signal_frame() {
                Trust::Interrupted
            } else {
                Trust::Described
            };
            let caller = cfi::caller(sections, &entry, looked_up, registers, stack);
            return (caller, trust);
        }
    }
    (
        cfi::caller_by_frame_pointer(registers, stack),
        Trust::Guessed,
    )
}

/// Whether the address can be the return address of a call.
fn is_plausible(address: u64, location: &Location, trust: Trust) -> bool {
    match location {
        Location::File(image, bias) => {
            let address = address.wrapping_sub(*bias);
            let looked_up = address.wrapping_sub(1);
            // A signal handler returns to code that nothing called, and that code to where the
            // signal struck.
            trust == Trust::Interrupted && image.binary.is_code(looked_up)
                || code::call_before(&image.binary, address).is_some()
                || image
                    .unwind_sections()
                    .and_then(|sections| sections.covering(looked_up))
                    .is_some_and(|entry| entry.is_signal_frame())
        }
        Location::Unreadable => true,
        // Code made at run time has no file; a guess that leads there is probably none.
        Location::Nowhere => trust != Trust::Guessed,
    }
}
