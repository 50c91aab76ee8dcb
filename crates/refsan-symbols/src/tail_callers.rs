//! The functions of a file that jump to an imported function, and those that a function can jump
//! on to.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::rc::Rc;

use crate::exits::{Exits, Target};
use crate::function_ranges::FunctionRange;
use crate::image::Image;
use crate::jump_scan::JumpScan;

/// Of the functions that load the address of an imported function, at most so many are decoded.
const REFERENCE_LIMIT: usize = 4096;
/// Of the functions that one function can jump on to, at most so many are followed.
const REACH_LIMIT: usize = 32;
/// Imported functions that do not end with a jump into the modules that use them. Those of Python
/// that may are left out: `_Py_Dealloc` ends with a jump to the destructor.
const LEAVES: [&[u8]; 22] = [
    b"_ZdaPv",
    b"_ZdaPvSt11align_val_t",
    b"_ZdaPvm",
    b"_ZdaPvmSt11align_val_t",
    b"_ZdlPv",
    b"_ZdlPvSt11align_val_t",
    b"_ZdlPvm",
    b"_ZdlPvmSt11align_val_t",
    b"__stack_chk_fail",
    b"free",
    b"memcpy",
    b"memmove",
    b"memset",
    b"PyErr_NoMemory",
    b"PyErr_Occurred",
    b"PyEval_RestoreThread",
    b"PyEval_SaveThread",
    b"PyGILState_Release",
    b"PyMem_Free",
    b"PyMem_RawFree",
    b"PyObject_Free",
    b"pthread_mutex_unlock",
];

/// A function, or a part of one, that jumps through a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) range: FunctionRange,
    /// The first such jump.
    pub(crate) jump: u64,
}

/// All functions that jump through one slot.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    pub(crate) callers: Vec<Caller>,
    /// The slot's value is loaded somewhere.
    pub(crate) is_loaded: bool,
    /// There may be others: the value is stored, or there is code that could not be judged.
    pub(crate) is_open: bool,
}

/// What was found so far in one file.
#[derive(Debug, Default)]
pub(crate) struct TailCallers {
    /// `None` inside where the code cannot be searched.
    scan: RefCell<Option<Option<JumpScan>>>,
    callers: RefCell<HashMap<u64, Rc<Callers>>>,
}

impl TailCallers {
    /// The functions that jump through `slot`; the code is searched once for all `slots`, of which
    /// it is one. `None` where the code cannot be searched.
    pub(crate) fn of(
        &self,
        image: &Image,
        slot: u64,
        slots: impl Iterator<Item = u64>,
    ) -> Option<Rc<Callers>> {
        if let Some(known) = self.callers.borrow().get(&slot) {
            return Some(known.clone());
        }
        let mut scan = self.scan.borrow_mut();
        let places = match &*scan {
            Some(None) => return None,
            Some(Some(scan)) => scan.places(slot),
            None => None,
        };
        let places = match places {
            Some(places) => places,
            None => {
                let mut slots: BTreeSet<u64> = slots.collect();
                slots.insert(slot);
                let fresh = JumpScan::run(&image.binary, image.imports(), slots);
                scan.insert(fresh).as_ref()?.places(slot)?
            }
        };
        let callers = Rc::new(confirmed(image, slot, &places.jumps, &places.references));
        self.callers.borrow_mut().insert(slot, callers.clone());
        Some(callers)
    }
}

fn confirmed(image: &Image, slot: u64, jumps: &[u64], references: &[u64]) -> Callers {
    let mut found = Callers::default();
    let mut seen = HashSet::new();
    let places = jumps.iter().map(|place| (*place, true));
    let places = places.chain(references.iter().map(|place| (*place, false)));
    for (index, (place, is_jump)) in places.enumerate() {
        if index - index.min(jumps.len()) > REFERENCE_LIMIT {
            found.is_open = true;
            break;
        }
        let Some(range) = image.function_range(place) else {
            found.is_open |= is_jump;
            continue;
        };
        if !seen.insert(range.start) {
            continue;
        }
        let exits = read(image, range);
        found.is_loaded |= exits.loads.contains(&slot);
        found.is_open |= exits.is_incomplete;
        let mut escaping = exits.escaping.iter();
        found.is_open |= escaping.any(|address| through(image, *address) == slot);
        match first_jump(image, &exits, slot) {
            Some(jump) => found.callers.push(Caller { range, jump }),
            // The bytes are those of a jump, and the decoder saw none.
            None => found.is_open |= is_jump,
        }
    }
    found.callers.sort_by_key(|caller| caller.range.start);
    found
}

/// What a function can jump on to.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    /// The functions that jump through the slot, the nearest first.
    pub(crate) callers: Vec<Caller>,
    /// Control may also go where the code does not tell.
    pub(crate) is_open: bool,
}

/// Follows the jumps of the function at `start` to those through `slot`.
pub(crate) fn reach(image: &Image, start: u64, slot: u64) -> Reach {
    let mut reach = Reach::default();
    let mut seen = HashSet::new();
    let mut open = VecDeque::from([start]);
    while let Some(address) = open.pop_front() {
        let range = image.function_range(address);
        let Some(range) = range.filter(|_| !image.imports().is_linkage_table(address)) else {
            reach.is_open = true;
            continue;
        };
        if !seen.insert(range.start) {
            continue;
        }
        if seen.len() > REACH_LIMIT {
            reach.is_open = true;
            break;
        }
        let exits = read(image, range);
        reach.is_open |= exits.is_incomplete || exits.has_computed_jump();
        if let Some(jump) = first_jump(image, &exits, slot) {
            reach.callers.push(Caller { range, jump });
        }
        for jump in &exits.jumps {
            let next = match jump.target {
                Target::Code(target) => image.imports().stub(target).ok_or(target),
                Target::Slot(target) => Ok(target),
                Target::Register | Target::Memory => continue,
            };
            match next {
                Ok(other) if other == slot || is_leaf(image, other) => {}
                Ok(other) => match image.imports().own_function(other) {
                    Some(own) => open.push_back(own),
                    None => reach.is_open = true,
                },
                Err(target) => open.push_back(target),
            }
        }
    }
    reach
}

/// What the code of a function says.
pub(crate) fn read(image: &Image, range: FunctionRange) -> Exits {
    let is_stub = |address| image.imports().stub(address).is_some();
    Exits::read(&image.binary, range, is_stub)
}

/// The slot that a stub jumps through; other addresses come back as they are.
fn through(image: &Image, address: u64) -> u64 {
    image.imports().stub(address).unwrap_or(address)
}

fn first_jump(image: &Image, exits: &Exits, slot: u64) -> Option<u64> {
    let through_slot = exits.jumps.iter().filter(|jump| match jump.target {
        Target::Code(target) => image.imports().stub(target) == Some(slot),
        Target::Slot(target) => target == slot,
        Target::Register | Target::Memory => false,
    });
    through_slot.map(|jump| jump.address).min()
}

fn is_leaf(image: &Image, slot: u64) -> bool {
    let name = image.imports().name(&image.binary, slot);
    name.is_some_and(|name| LEAVES.contains(&name.as_slice()))
}
