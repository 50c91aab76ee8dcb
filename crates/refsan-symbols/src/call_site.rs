//! Decides which function of a module made a call, where a jump may have made it.

use crate::exits::{self, Target};
use crate::image::Image;
use crate::tail_callers::{self, Caller, Callers, Reach};

/// At most so many candidates are named.
pub const CANDIDATE_LIMIT: usize = 8;

/// How a function was called through a slot of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallSite {
    /// The instruction before the return address is the call: the function there made it.
    Direct,
    /// A jump made the call, as the last act of one of these functions of the module.
    ///
    /// One candidate alone is certain; `more` is false then.
    Tail {
        /// The nearest to the return address first, then in the order of their addresses. There is
        /// at least one and at most [`CANDIDATE_LIMIT`].
        candidates: Vec<TailCaller>,
        /// There are further candidates, or there may be some that the code does not show.
        more: bool,
    },
    /// The code cannot tell.
    Unknown,
}

/// A function that ends with a jump to the called one. Addresses are the file's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TailCaller {
    /// Its name, demangled, where the file has one.
    pub name: Option<String>,
    /// Where it begins; or where the part begins that jumps, if the compiler split it.
    pub offset: u64,
    /// Where it jumps.
    pub jump: u64,
}

/// What is asked, in the file's own addresses.
pub(crate) struct Question<S> {
    pub(crate) slot: u64,
    /// All slots that may be asked for later.
    pub(crate) slots: S,
    /// Where the call returns to, if that is in the same file.
    pub(crate) return_address: Option<u64>,
}

/// Where control came from, before the jump or the call.
enum Origin {
    /// The call itself.
    Call,
    /// The function at this address was called.
    Function(u64),
    /// Any function of the file may have been called.
    Anywhere,
    /// The call itself, if the slot's value is loaded somewhere in the file; otherwise as above.
    Register,
    Unknown,
}

pub(crate) fn call_site(image: &Image, question: Question<impl Iterator<Item = u64>>) -> CallSite {
    let slot = question.slot;
    let origin = match question.return_address {
        Some(address) => origin(image, slot, address),
        None => Origin::Anywhere,
    };
    let reach = match origin {
        Origin::Call => return CallSite::Direct,
        Origin::Unknown => return CallSite::Unknown,
        Origin::Function(start) => tail_callers::reach(image, start, slot),
        Origin::Anywhere | Origin::Register => Reach {
            callers: Vec::new(),
            is_open: true,
        },
    };
    if !reach.is_open {
        return answer(image, reach.callers, false);
    }
    let Some(all) = image.tail_callers.of(image, slot, question.slots) else {
        return CallSite::Unknown;
    };
    if matches!(origin, Origin::Register) && (all.is_loaded || all.is_open) {
        return CallSite::Unknown;
    }
    let Callers {
        callers, is_open, ..
    } = &*all;
    let mut candidates = reach.callers;
    for caller in callers {
        if !candidates.contains(caller) {
            candidates.push(*caller);
        }
    }
    answer(image, candidates, *is_open)
}

fn origin(image: &Image, slot: u64, return_address: u64) -> Origin {
    // The call can be the last instruction of its function.
    let range = image.function_range(return_address.wrapping_sub(1));
    let Some(range) = range else {
        return Origin::Unknown;
    };
    let imports = image.imports();
    let called = exits::call_ending_at(&image.binary, range, return_address);
    let called_slot = match called {
        Some(Target::Code(target)) => match imports.stub(target) {
            Some(slot) => slot,
            None => return Origin::Function(target),
        },
        Some(Target::Slot(slot)) => slot,
        Some(Target::Register) => {
            let exits = tail_callers::read(image, range);
            return if exits.loads.contains(&slot) {
                Origin::Call
            } else {
                Origin::Register
            };
        }
        Some(Target::Memory) => return Origin::Anywhere,
        None => return Origin::Unknown,
    };
    if imports.are_alike(called_slot, slot) {
        return Origin::Call;
    }
    match imports.own_function(called_slot) {
        Some(own) => Origin::Function(own),
        None => Origin::Anywhere,
    }
}

fn answer(image: &Image, callers: Vec<Caller>, is_open: bool) -> CallSite {
    // Names cost time, and most of the many callers would not be shown.
    let considered = callers.iter().take(2 * CANDIDATE_LIMIT);
    let mut more = is_open || callers.len() > considered.len();
    let named = considered.map(|caller| {
        let is_part = image.is_split_off(caller.jump);
        (is_part, name(image, caller.jump), caller)
    });
    let named: Vec<_> = named.collect();
    let mut candidates: Vec<TailCaller> = Vec::new();
    for (is_part, name, caller) in &named {
        // A part that the compiler split off has the name of its function, which may be there too.
        let is_whole = |other: &(bool, Option<String>, &Caller)| !other.0 && other.1 == *name;
        if *is_part && named.iter().any(is_whole) {
            continue;
        }
        if candidates.len() == CANDIDATE_LIMIT {
            more = true;
            break;
        }
        candidates.push(TailCaller {
            name: name.clone(),
            offset: caller.range.start,
            jump: caller.jump,
        });
    }
    match candidates.len() {
        0 => CallSite::Unknown,
        1 if more => CallSite::Unknown,
        _ => CallSite::Tail { candidates, more },
    }
}

fn name(image: &Image, address: u64) -> Option<String> {
    image.places(address).pop()?.function
}
