//! Recognizes the functions of the C library that run destructors, in stripped files too.
//!
//! They are local functions, so without debug symbols nothing names them, and yet they tell how far
//! the exit of a process or thread has come. Each is found by its relation to exported functions:
//! what `exit` calls, what `pthread_create` passes on, what the loader hands to the program.

use iced_x86::Register;

use crate::code::{Body, Call, call_before};
use crate::function_ranges::FunctionRange;
use crate::image::Image;
use crate::symbol_table::SymbolTable;

/// Runs what `atexit` and `__cxa_atexit` registered.
pub(crate) const RUN_EXIT_HANDLERS: &str = "__run_exit_handlers";
/// Runs the thread-local destructors of the calling thread.
pub(crate) const CALL_TLS_DTORS: &str = "__call_tls_dtors";
/// The first function of every thread but the initial one.
pub(crate) const START_THREAD: &str = "start_thread";
/// Runs the destructors of `pthread_key_create`.
pub(crate) const DEALLOCATE_TSD: &str = "__nptl_deallocate_tsd";
/// Enters the kernel to make a thread, and calls `start_thread` on the new one.
pub(crate) const CLONE3: &str = "clone3";
/// Calls `main`.
pub(crate) const START_CALL_MAIN: &str = "__libc_start_call_main";
/// Runs the `.fini_array` of every library.
pub(crate) const DL_FINI: &str = "_dl_fini";

/// The number of the system call `clone3`.
const CLONE3_NUMBER: u64 = 435;

/// A recognized function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Landmark {
    pub(crate) range: FunctionRange,
    pub(crate) name: &'static str,
}

/// The name of the recognized function at the address.
pub(crate) fn name_at(landmarks: &[Landmark], address: u64) -> Option<&'static str> {
    let mut landmarks = landmarks.iter();
    let found = landmarks.find(|landmark| landmark.range.contains(address))?;
    Some(found.name)
}

/// Whether the file is the program loader.
pub(crate) fn is_loader(image: &Image) -> bool {
    file_name(image).is_some_and(|name| name.starts_with("ld-"))
}

/// What the call before the return address calls, as far as the code tells.
pub(crate) fn is_indirect_call(image: &Image, return_address: u64) -> bool {
    call_before(&image.binary, return_address) == Some(Call::Indirect)
}

/// The recognized functions of a file; none unless it is a part of the GNU C library.
pub(crate) fn landmarks(image: &Image) -> Vec<Landmark> {
    let Some(name) = file_name(image) else {
        return Vec::new();
    };
    let is_library = ["libc.so", "libc-", "libpthread"]
        .iter()
        .any(|start| name.starts_with(start));
    let mut landmarks = Vec::new();
    if let Some(exports) = image.dynamic_table().filter(|_| is_library) {
        Library { image, exports }.find(&mut landmarks);
    } else if is_loader(image) {
        landmarks.extend(dl_fini(image));
    }
    landmarks
}

fn file_name(image: &Image) -> Option<std::borrow::Cow<'_, str>> {
    let name = image.binary.path.file_name()?;
    Some(name.to_string_lossy())
}

/// The loader passes its exit function to the program's entry point in a register.
fn dl_fini(image: &Image) -> Option<Landmark> {
    const ENTRY_SIZE: u64 = 128;
    let start = image.binary.entry;
    let entry = FunctionRange {
        start,
        end: start.checked_add(ENTRY_SIZE)?,
    };
    let target = Body::read(&image.binary, entry).address_loaded_into(Register::RDX)?;
    let (range, _) = function_starting_at(image, target)?;
    Some(Landmark {
        range,
        name: DL_FINI,
    })
}

fn function_starting_at(image: &Image, start: u64) -> Option<(FunctionRange, Body)> {
    let entry = image.unwind_sections()?.covering(start)?;
    let range = entry.range();
    (range.start == start).then(|| (range, Body::read(&image.binary, range)))
}

/// `libc.so.6`, or the separate `libpthread.so.0` before version 2.34.
struct Library<'a> {
    image: &'a Image,
    exports: &'a SymbolTable,
}

impl Library<'_> {
    fn find(&self, landmarks: &mut Vec<Landmark>) {
        let mut add = |name, range| landmarks.push(Landmark { range, name });
        let run_exit_handlers = self.run_exit_handlers();
        if let Some((range, body)) = &run_exit_handlers {
            add(RUN_EXIT_HANDLERS, *range);
            let is_tls = |body: &Body| body.calls_indirectly() && body.reads_pointer_guard();
            if let Some((range, _)) = self.only(self.callees(body), is_tls) {
                add(CALL_TLS_DTORS, range);
            }
        }
        if let Some((range, _)) = self.start_call_main() {
            add(START_CALL_MAIN, range);
        }
        if let Some((range, body)) = self.start_thread() {
            add(START_THREAD, range);
            if let Some((range, _)) = self.deallocate_tsd(&body) {
                add(DEALLOCATE_TSD, range);
            }
        }
        if let Some((range, _)) = self.clone3() {
            add(CLONE3, range);
        }
    }

    /// `exit` does nothing but call it.
    fn run_exit_handlers(&self) -> Option<(FunctionRange, Body)> {
        let (_, exit) = self.exported("exit")?;
        let is_runner = |body: &Body| body.calls_indirectly() && body.reads_pointer_guard();
        self.only(self.callees(&exit), is_runner)
    }

    /// `__libc_start_main` calls it; it calls `main` and `exit`.
    fn start_call_main(&self) -> Option<(FunctionRange, Body)> {
        let (_, start_main) = self.exported("__libc_start_main")?;
        let (exit, _) = self.exported("exit")?;
        self.only(self.callees(&start_main), |body| {
            body.calls_indirectly() && body.direct_calls().any(|target| target == exit.start)
        })
    }

    /// `pthread_create`, or a function that it calls, passes its address to the kernel; it calls
    /// the thread's function and ends the thread.
    fn start_thread(&self) -> Option<(FunctionRange, Body)> {
        let (_, create) = self.exported("pthread_create")?;
        let mut addresses: Vec<u64> = create.addresses().collect();
        for start in self.callees(&create) {
            if let Some((_, callee)) = function_starting_at(self.image, start) {
                addresses.extend(callee.addresses());
            }
        }
        self.only(addresses, |body| {
            body.calls_indirectly() && body.makes_system_calls()
        })
    }

    /// `pthread_create` gets to it through a few functions; it makes the system call of that name.
    fn clone3(&self) -> Option<(FunctionRange, Body)> {
        const DEPTH: usize = 4;
        const GAP: u64 = 32;
        let (_, create) = self.exported("pthread_create")?;
        let mut seen = self.callees(&create);
        let mut newest = seen.clone();
        for _ in 1..DEPTH {
            let functions = newest
                .iter()
                .filter_map(|start| function_starting_at(self.image, *start));
            let callees: Vec<u64> = functions
                .flat_map(|(_, body)| self.callees(&body))
                .collect();
            newest = callees;
            newest.sort_unstable();
            newest.dedup();
            newest.retain(|start| !seen.contains(start));
            seen.extend(&newest);
        }
        let (entered, _) = self.only(seen, |body| body.loads(CLONE3_NUMBER))?;
        // Written in assembly, it has no unwind information for the moment at which there are two
        // threads; what the new one runs comes right after.
        let sections = self.image.unwind_sections()?;
        let mut after = entered.end..entered.end.checked_add(GAP)?;
        let thread = after.find_map(|address| sections.covering(address))?;
        let body = Body::read(&self.image.binary, thread.range());
        body.calls_indirectly().then_some((thread.range(), body))
    }

    /// `start_thread` calls it; it works on the table that `pthread_key_create` works on.
    fn deallocate_tsd(&self, start_thread: &Body) -> Option<(FunctionRange, Body)> {
        /// Size of an item of the table, in bytes.
        const ITEM: u64 = 16;
        let (_, create) = self.exported("pthread_key_create")?;
        let table: Vec<u64> = create.addresses().collect();
        self.only(self.callees(start_thread), |body| {
            let mut addresses = body.addresses();
            body.calls_indirectly()
                && addresses.any(|used| table.iter().any(|key| used.abs_diff(*key) < ITEM))
        })
    }

    fn exported(&self, name: &str) -> Option<(FunctionRange, Body)> {
        let start = self.exports.start_of(&self.image.binary, name)?;
        function_starting_at(self.image, start)
    }

    fn callees(&self, body: &Body) -> Vec<u64> {
        body.direct_calls().collect()
    }

    /// The function among `starts` that is as asked for, if exactly one is: a wrong name would be
    /// worse than none.
    fn only(
        &self,
        mut starts: Vec<u64>,
        is_wanted: impl Fn(&Body) -> bool,
    ) -> Option<(FunctionRange, Body)> {
        starts.sort_unstable();
        starts.dedup();
        let functions = starts
            .into_iter()
            .filter_map(|start| function_starting_at(self.image, start));
        let mut wanted = functions.filter(|(_, body)| is_wanted(body));
        let first = wanted.next()?;
        wanted.next().is_none().then_some(first)
    }
}
