//! Walks up a recorded stack.

use std::rc::Rc;
use std::sync::Arc;

use framehop::x86_64::{CacheX86_64, UnwindRegsX86_64, UnwinderX86_64};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Unwinder as _};
use refsan_trace::StackMemory;

use crate::binary::Binary;
use crate::code;
use crate::function_ranges::UnwindSections;
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

/// The unwinder of one file, in the file's own addresses, so that it serves every process.
pub(crate) struct FileUnwinder(UnwinderX86_64<Arc<[u8]>>);

impl FileUnwinder {
    pub(crate) fn new(binary: &Binary, sections: &UnwindSections) -> FileUnwinder {
        let header = sections.header.as_ref();
        let information = ExplicitModuleSectionInfo {
            base_svma: binary.address_range().start,
            text_svma: sections.text_range.clone(),
            got_svma: sections.got_range.clone(),
            eh_frame_svma: Some(sections.eh_frame_range.clone()),
            eh_frame: Some(Arc::clone(&sections.eh_frame)),
            eh_frame_hdr_svma: header.map(|(_, range)| range.clone()),
            eh_frame_hdr: header.map(|(bytes, _)| Arc::clone(bytes)),
            ..Default::default()
        };
        let range = binary.address_range();
        let name = binary.path.to_string_lossy().into_owned();
        let mut unwinder = UnwinderX86_64::new();
        unwinder.add_module(framehop::Module::new(
            name,
            range.clone(),
            range.start,
            information,
        ));
        FileUnwinder(unwinder)
    }
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

/// Walks up the stack; `locate` tells where an address lies.
pub(crate) fn unwind(stack: &StackMemory, mut locate: impl FnMut(u64) -> Location) -> Unwound {
    let registers = &stack.registers;
    let mut walk = Walk {
        stack,
        registers: UnwindRegsX86_64::new(registers.rip, registers.rsp, registers.rbp),
        cache: CacheX86_64::new(),
        without_information: UnwinderX86_64::new(),
    };
    let mut addresses = vec![registers.rip];
    let mut address = registers.rip;
    let mut location = locate(address.wrapping_sub(1));
    while addresses.len() < FRAME_LIMIT {
        let (next, trust) = match walk.step(address, &location) {
            // Return addresses are looked up one byte before; here the instruction itself counts.
            Step::Caller(next, Trust::Interrupted) => (next.wrapping_add(1), Trust::Interrupted),
            Step::Caller(next, trust) => (next, trust),
            Step::Root => return unwound(addresses, false),
            Step::Lost => break,
        };
        let next_location = locate(next.wrapping_sub(1));
        if !is_plausible(next, &next_location, trust) {
            break;
        }
        addresses.push(next);
        (address, location) = (next, next_location);
    }
    unwound(addresses, true)
}

fn unwound(addresses: Vec<u64>, truncated: bool) -> Unwound {
    Unwound {
        addresses,
        truncated,
    }
}

/// How a frame's caller was found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trust {
    /// The file's unwind information says so.
    Described,
    /// As `Described`, and the frame is one that a signal interrupted: no call led to it.
    Interrupted,
    /// The frame pointer was followed without knowing that it is one.
    Guessed,
}

enum Step {
    Caller(u64, Trust),
    Root,
    Lost,
}

struct Walk<'a> {
    stack: &'a StackMemory,
    registers: UnwindRegsX86_64,
    cache: CacheX86_64,
    without_information: UnwinderX86_64<Vec<u8>>,
}

impl Walk<'_> {
    fn step(&mut self, address: u64, location: &Location) -> Step {
        let mut is_beyond = false;
        let stack = self.stack;
        let mut read = |address| {
            word(stack, address).ok_or_else(|| {
                is_beyond = true;
            })
        };
        let described =
            match location {
                Location::File(image, bias) => image
                    .unwinder()
                    .zip(image.unwind_sections())
                    .and_then(|(unwinder, sections)| {
                        let address = address.wrapping_sub(*bias);
                        let entry = sections.covering(address.wrapping_sub(1))?;
                        Some((unwinder, address, entry))
                    }),
                Location::Unreadable | Location::Nowhere => None,
            };
        let in_file = described
            .as_ref()
            .map_or(address, |(_, address, _)| *address);
        let Some(frame) = FrameAddress::from_return_address(in_file) else {
            return Step::Lost;
        };
        let (registers, cache) = (&mut self.registers, &mut self.cache);
        let (result, trust) = match described {
            Some((unwinder, _, entry)) => (
                unwinder.0.unwind_frame(frame, registers, cache, &mut read),
                if entry.is_signal_frame {
                    Trust::Interrupted
                } else {
                    Trust::Described
                },
            ),
            None => (
                self.without_information
                    .unwind_frame(frame, registers, cache, &mut read),
                Trust::Guessed,
            ),
        };
        // The unwinder goes on by frame pointer when it could not read the stack: it must not.
        match result {
            Ok(Some(next)) if !is_beyond => Step::Caller(next, trust),
            Ok(None) if !is_beyond => Step::Root,
            _ => Step::Lost,
        }
    }
}

fn word(stack: &StackMemory, address: u64) -> Option<u64> {
    let offset = usize::try_from(address.checked_sub(stack.start)?).ok()?;
    let bytes = stack.bytes.get(offset..offset.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
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
                    .is_some_and(|entry| entry.is_signal_frame)
        }
        Location::Unreadable => true,
        // Code made at run time has no file; a guess that leads there is probably none.
        Location::Nowhere => address != 0 && trust != Trust::Guessed,
    }
}
