//! The binaries of the process: which are watched, and how each is hooked.
//!
//! New ones are noticed when somebody looks up a symbol: an import always looks up the module's
//! `PyInit_` function before anything in the module runs. The look-up itself is passed on by a jump,
//! so that the loader sees the real caller; becoming the caller of `dlopen` would change whose
//! library path is searched.

use alloc::boxed::Box;
use alloc::ffi::CString;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::ControlFlow;

use refsan_capi::{AddressHazard, Function, Need, Role};
use refsan_hook::image::{self, Dynamic, Image};
use refsan_hook::patch::SlotWriter;
use refsan_hook::slots::{self, Slot, SlotKind, Unusable};
use refsan_hook::symbols;
use refsan_hook::thunk::{Arena, Gate, Way};
use refsan_trace::Writer;
use refsan_trace::layout::{
    self, ModuleRecord, SlotEntry, SlotsRecord, module_role, record_kind, skip_reason, slot_flags,
};
use zerocopy::{FromZeros, IntoBytes};

use crate::hooks::{self, CallSite};
use crate::interpreter::{self, Interpreter};
use crate::process;
use crate::state::{self, Watched};

/// What is known of the binaries.
#[derive(Default)]
pub struct Modules {
    known: Vec<Known>,
    /// The interpreter's image, for looking up what is bound lazily.
    exports: Option<(Image<'static>, Dynamic)>,
    /// An interpreter was found and cannot be watched.
    gave_up: bool,
    /// The loader's counter at the last look.
    loads: u64,
    /// The number for the next module.
    next: u32,
    /// In a forked child: how many binaries there were at the fork, until something is loaded.
    at_fork: Option<usize>,
}

/// A binary that has been dealt with.
struct Known {
    start: usize,
    /// As the loader has it.
    path: CString,
    /// A slot and what was written to it: another binary may have been loaded to the same place.
    probe: Option<(usize, usize)>,
    /// It is in the trace and hooked for the interpreter; before one is found, only look-ups are.
    complete: bool,
}

/// Looks at the binaries if new ones were loaded since the last look.
pub fn look_again() {
    let Some(state) = state::state() else { return };
    if state.modules.with(Modules::nothing_loaded_since_fork) {
        return;
    }
    let loads = image::loads();
    state.modules.with(|modules| {
        if modules.loads != loads {
            modules.loads = loads;
            modules.look(false);
        }
    });
}

impl Modules {
    /// The process has just been forked and has one thread.
    pub fn forked(&mut self) {
        // SAFETY: one thread, and it is not loading anything.
        self.at_fork = Some(unsafe { image::count_without_lock() });
    }

    /// Another thread of the parent may have held the loader's lock when the process was forked. It
    /// is held for ever then, and a child that loads nothing must not ask for it.
    fn nothing_loaded_since_fork(&mut self) -> bool {
        // SAFETY: until something is loaded, the child has hardly more than its one thread.
        let nothing = self
            .at_fork
            .is_some_and(|count| count == unsafe { image::count_without_lock() });
        if !nothing {
            self.at_fork = None;
        }
        nothing
    }

    /// Deals with every binary that is not known yet.
    pub fn look(&mut self, at_start: bool) {
        if state::watched().is_none() && !self.gave_up {
            image::for_each(&mut |image| self.find_interpreter(image, at_start));
        }
        image::for_each(&mut |image| {
            self.deal_with(image);
            ControlFlow::Continue(())
        });
    }

    fn find_interpreter(&mut self, image: &Image<'_>, at_start: bool) -> ControlFlow<()> {
        let Some(dynamic) = image.dynamic() else {
            return ControlFlow::Continue(());
        };
        if !interpreter::is_interpreter(image, &dynamic) {
            return ControlFlow::Continue(());
        }
        match Interpreter::new(image, &dynamic, at_start) {
            Ok(interpreter) => match process::new_trace(Some(&interpreter), None) {
                Some(writer) => {
                    // SAFETY: CPython cannot be unloaded and used again; its image stays.
                    self.exports = Some((unsafe { image.forever() }, dynamic));
                    state::set_watched(Watched {
                        interpreter,
                        writer,
                    });
                }
                None => self.gave_up = true,
            },
            Err(reason) => {
                process::new_trace(None, Some(&alloc::format!("{reason}")));
                self.gave_up = true;
            }
        }
        ControlFlow::Break(())
    }

    fn deal_with(&mut self, image: &Image<'_>) {
        let start = image.range().start;
        let watched = state::watched();
        let is_it = |known: &Known| known.start == start && known.path.as_c_str() == image.path;
        let position = self.known.iter().position(is_it);
        if let Some(known) = position.and_then(|position| self.known.get(position)) {
            let intact = known.probe.is_none_or(|(slot, thunk)| {
                image
                    .items::<u64>(slot, 1)
                    .is_some_and(|value| value[0] as usize == thunk)
            });
            if intact && (known.complete || watched.is_none()) {
                return;
            }
        }
        let Some(dynamic) = image.dynamic() else {
            return;
        };
        let is_new = position.is_none();
        let path = path_of(image);
        let probe = match self.hook(image, &dynamic, &path, watched, is_new) {
            Ok(probe) => probe,
            Err(Unusable::NotRelocated) => {
                // The next look finds it complete, and must not be skipped.
                self.loads = 0;
                return;
            }
            Err(Unusable::Malformed) => {
                if let Some(watched) = watched {
                    let (id, reason) = (self.next, skip_reason::MALFORMED);
                    self.next += 1;
                    record_module(
                        &watched.writer,
                        image,
                        &path,
                        id,
                        module_role::SKIPPED,
                        reason,
                    );
                }
                None
            }
        };
        let known = Known {
            start,
            path: image.path.into(),
            probe,
            complete: watched.is_some(),
        };
        match position.and_then(|position| self.known.get_mut(position)) {
            Some(place) => *place = known,
            None => self.known.push(known),
        }
    }

    /// Records and hooks a binary. Returns a slot that was patched.
    fn hook(
        &mut self,
        image: &Image<'_>,
        dynamic: &Dynamic,
        path: &str,
        watched: Option<&'static Watched>,
        is_new: bool,
    ) -> Result<Option<(usize, usize)>, Unusable> {
        let kind = Kind::of(image, dynamic, path, self.exports.as_ref());
        let mut found = Vec::new();
        if kind != Kind::Untouchable {
            slots::for_each(image, dynamic, &mut |slot| {
                self.choose(image, &slot, kind, &mut found)
            })?;
        }
        let Some(watched) = watched else {
            let lookups: Vec<Found> = found
                .into_iter()
                .filter(|found| found.function.is_none())
                .collect();
            return Ok(patch(image, lookups, None).ok().flatten());
        };
        // Look-ups were hooked when the binary was first seen.
        found.retain(|found| found.function.is_some() || is_new);
        let id = self.next;
        self.next += 1;
        let uses_api = found.iter().any(|found| found.function.is_some());
        let (role, reason) = match kind {
            Kind::Runtime => (module_role::RUNTIME, skip_reason::NONE),
            Kind::Interpreter => (module_role::INTERPRETER, skip_reason::NONE),
            Kind::StandardLibrary if uses_api => {
                (module_role::SKIPPED, skip_reason::STANDARD_LIBRARY)
            }
            _ if uses_api => (module_role::WATCHED, skip_reason::NONE),
            _ => (module_role::OTHER, skip_reason::NONE),
        };
        record_module(&watched.writer, image, path, id, role, reason);
        if role == module_role::SKIPPED {
            found.retain(|found| found.function.is_none());
        }
        match patch(image, found, Some((watched, id))) {
            Ok(probe) => Ok(probe),
            Err(reason) => {
                record_module(
                    &watched.writer,
                    image,
                    path,
                    id,
                    module_role::SKIPPED,
                    reason,
                );
                Ok(None)
            }
        }
    }

    /// Adds a slot to `found` if calls through it are to be redirected.
    fn choose(&self, image: &Image<'_>, slot: &Slot<'_>, kind: Kind, found: &mut Vec<Found>) {
        let Some(&[value]) = image.items::<u64>(slot.address, 1) else {
            return;
        };
        let value = value as usize;
        // A weak symbol that nobody defines stays null, and programs test for that.
        if value == 0 || slot.defined_here {
            return;
        }
        let bound_lazily = image.range().contains(&value);
        if slot.name == "dlsym" {
            let target = if bound_lazily {
                libc::dlsym as *const () as usize
            } else {
                value
            };
            found.push(Found {
                address: slot.address,
                kind: slot.kind,
                target,
                function: None,
                patched: true,
            });
            return;
        }
        if kind == Kind::Interpreter {
            return;
        }
        let Some(function) =
            refsan_capi::function(slot.name).filter(|function| is_watched(function))
        else {
            return;
        };
        let target = if bound_lazily {
            let exports = self.exports.as_ref();
            exports.and_then(|(image, dynamic)| symbols::defined(image, dynamic, slot.name))
        } else {
            Some(value)
        };
        let Some(target) = target else { return };
        let patched = slot.kind == SlotKind::JumpSlot || function.hazard != AddressHazard::Compared;
        found.push(Found {
            address: slot.address,
            kind: slot.kind,
            target,
            function: Some(function),
            patched,
        });
    }
}

/// Whether calls of a function go through refsan.
fn is_watched(function: &Function) -> bool {
    function.need == Need::Required || function.role == Role::Attach
}

/// A slot that is to be patched.
struct Found {
    address: usize,
    kind: SlotKind,
    target: usize,
    /// `None`: the loader's look-up.
    function: Option<&'static Function>,
    /// `false`: only told of.
    patched: bool,
}

/// What a binary is to refsan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Interpreter,
    /// Watched if it uses the C-API.
    Module,
    /// An extension module of the standard library.
    StandardLibrary,
    /// The C library, the loader, the kernel's page: never patched.
    Untouchable,
    /// This library.
    Runtime,
}

impl Kind {
    fn of(
        image: &Image<'_>,
        dynamic: &Dynamic,
        path: &str,
        exports: Option<&(Image<'static>, Dynamic)>,
    ) -> Kind {
        let name = path.rsplit('/').next().unwrap_or(path);
        if image.range().contains(&(Kind::of as *const () as usize)) {
            Kind::Runtime
        } else if exports.is_some_and(|(interpreter, _)| {
            interpreter.bias == image.bias && interpreter.range() == image.range()
        }) || interpreter::is_interpreter(image, dynamic)
        {
            Kind::Interpreter
        } else if [
            "libc.so",
            "ld-linux",
            "linux-vdso",
            "libdl.so",
            "libpthread.so",
        ]
        .iter()
        .any(|prefix| name.starts_with(prefix))
        {
            Kind::Untouchable
        } else if path.contains("/lib-dynload/") && !name.starts_with("_ctypes.") {
            Kind::StandardLibrary
        } else {
            Kind::Module
        }
    }
}

/// The path of a binary.
fn path_of(image: &Image<'_>) -> String {
    if image.path.is_empty() {
        process::executable()
    } else {
        image.path.to_string_lossy().into_owned()
    }
}

fn record_module(writer: &Writer, image: &Image<'_>, path: &str, id: u32, role: u8, reason: u8) {
    let mut record = ModuleRecord::new_zeroed();
    record.module = id;
    record.role = role;
    record.reason = reason;
    record.bias = image.bias as u64;
    record.start = image.range().start as u64;
    record.end = image.range().end as u64;
    let path = path.as_bytes();
    let path = path
        .get(..path.len().min(usize::from(u16::MAX)))
        .unwrap_or_default();
    record.path_length = path.len() as u16;
    if let Some(build_id) = image.build_id() {
        for (place, byte) in record.build_id.iter_mut().zip(build_id) {
            *place = *byte;
        }
        record.build_id_length = build_id.len() as u32;
    }
    writer.append(record_kind::MODULE, &[record.as_bytes(), path]);
}

/// Calls of look-ups are counted here; nobody reads it.
static LOOKUPS: core::sync::atomic::AtomicU64 = core::sync::atomic::AtomicU64::new(0);

/// Points the slots at thunks. Returns one of them, or the [`skip_reason`] for which the binary
/// stays as it was.
fn patch(
    image: &Image<'_>,
    found: Vec<Found>,
    watched: Option<(&'static Watched, u32)>,
) -> Result<Option<(usize, usize)>, u8> {
    if found.is_empty() {
        return Ok(None);
    }
    let module = watched.map_or(0, |(_, id)| id);
    let gate = watched.map_or(Gate::Closed, |(watched, _)| watched.interpreter.gate);
    let functions = found
        .iter()
        .filter_map(|found| found.function.map(|function| (found, function)));
    let entries: Vec<SlotEntry> = functions
        .map(|(found, function)| entry_of(found, function))
        .collect();
    let counters = watched
        .filter(|_| !entries.is_empty())
        .map(|(watched, id)| {
            let record = SlotsRecord {
                module: id,
                count: entries.len() as u32,
            };
            let body = watched
                .writer
                .append(record_kind::SLOTS, &[record.as_bytes(), entries.as_bytes()]);
            // SAFETY: the entries follow the record in the body.
            body.map_or_else(
                || Box::leak(entries.clone().into_boxed_slice()).as_mut_ptr(),
                |body| unsafe { body.add(size_of::<SlotsRecord>()).cast::<SlotEntry>() },
            )
        });
    let mut next_slot = 0_u32;
    let sites: Vec<CallSite> = found
        .iter()
        .map(|found| {
            let slot = next_slot;
            next_slot += u32::from(found.function.is_some());
            hooks::site(found.function, found.target, module, slot)
        })
        .collect();
    let sites: &'static [CallSite] = Box::leak(sites.into_boxed_slice());
    let mut arena = Arena::new(found.len()).map_err(|_| skip_reason::NO_MEMORY)?;
    let mut thunks = Vec::new();
    for (found, site) in found.iter().zip(sites).filter(|(found, _)| found.patched) {
        let role = found.function.map(|function| function.role);
        let way = if role == Some(Role::Attach) {
            Way::Around
        } else {
            Way::Before
        };
        let gate = gate_of(found.function, gate);
        let counter = match (found.function, counters) {
            // SAFETY: one entry for each function, in the same order.
            (Some(_), Some(entries)) => unsafe {
                &raw mut (*entries.add(site.slot as usize)).calls
            },
            _ => LOOKUPS.as_ptr(),
        };
        // SAFETY: counter and site live for ever.
        let thunk = unsafe { arena.add(gate, way, counter, &site.site) };
        thunks.push((found.address, thunk.ok_or(skip_reason::NO_MEMORY)?));
    }
    arena.seal().map_err(|_| skip_reason::PROTECTED)?;
    let mut writer = SlotWriter::new(image.relro());
    for (address, thunk) in &thunks {
        // SAFETY: the slot is this image's, and the thunk leads on to the same function.
        unsafe { writer.write(*address, *thunk) }.map_err(|_| skip_reason::PROTECTED)?;
    }
    Ok(thunks.first().copied())
}

/// When calls of a function may go straight on. `attached` is the gate that is open for threads that
/// are attached.
fn gate_of(function: Option<&Function>, attached: Gate) -> Gate {
    match function {
        // It returns at once where the thread is attached already, and bindings call it all the time.
        Some(function) if function.name == "PyGILState_Ensure" => attached,
        // What changes the state of a thread or the interpreter is always of interest, and so are
        // look-ups.
        Some(Function {
            role: Role::Attach | Role::Detach | Role::Finalize,
            ..
        })
        | None => Gate::Closed,
        Some(_) => attached,
    }
}

fn entry_of(found: &Found, function: &Function) -> SlotEntry {
    let mut entry = SlotEntry::new_zeroed();
    entry.address = found.address as u64;
    let flag = |set, bit| if set { bit } else { 0 };
    entry.flags = flag(found.kind == SlotKind::GlobDat, slot_flags::GLOB_DAT)
        | flag(!found.patched, slot_flags::NOT_PATCHED)
        | flag(function.role == Role::Release, slot_flags::RELEASE)
        | flag(function.reads_only, slot_flags::READS_ONLY);
    layout::set_text(&mut entry.name, function.name.as_bytes());
    entry.name_length = function.name.len().min(entry.name.len() - 1) as u16;
    entry
}
