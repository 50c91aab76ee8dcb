//! How far the exit of a process or a thread had come when a stack was recorded.

use crate::glibc;
use crate::image::Image;

/// What part of an exit runs the code on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ExitStage {
    /// The process exits and runs the thread-local destructors of the thread that called `exit`.
    ThreadLocalDestructor,
    /// The process exits and runs what `atexit` or `__cxa_atexit` registered: the destructors of
    /// static C++ objects among it.
    ExitHandler,
    /// The process exits and the loader runs the `.fini_array` of a library.
    LoaderFini,
    /// A thread ends and runs its thread-local destructors.
    ThreadExit,
    /// A thread ends and runs the destructors of its `pthread_key_create` values.
    ThreadSpecificData,
}

/// A return address in a file that can be read.
pub(crate) struct Caller<'a> {
    pub(crate) image: &'a Image,
    /// The return address, in the file's own addresses.
    pub(crate) address: u64,
}

impl Caller<'_> {
    fn landmark(&self) -> Option<&'static str> {
        glibc::name_at(self.image.landmarks(), self.address.wrapping_sub(1))
    }
}

/// The innermost stage on a stack; `None` in the list stands for an address in no readable file.
pub(crate) fn exit_stage(callers: &[Option<Caller<'_>>]) -> Option<ExitStage> {
    // A destructor can end in a jump to the watched function and has no frame then: nothing lies
    // before the first address.
    let inner = std::iter::once(None).chain(callers.iter().map(Option::as_ref));
    let outer = callers
        .iter()
        .map(Option::as_ref)
        .chain(std::iter::once(None));
    inner.zip(outer).find_map(|(inner, outer)| {
        let inner_name = inner.and_then(Caller::landmark);
        let outer_name = outer.and_then(Caller::landmark);
        match (inner_name, outer_name) {
            (Some(glibc::CALL_TLS_DTORS), Some(glibc::RUN_EXIT_HANDLERS)) => {
                Some(ExitStage::ThreadLocalDestructor)
            }
            // Whether a thread or the process ends is the caller's to tell.
            (Some(glibc::CALL_TLS_DTORS), _) => outer.map(|_| ExitStage::ThreadExit),
            (Some(glibc::DEALLOCATE_TSD), _) => Some(ExitStage::ThreadSpecificData),
            (_, Some(glibc::RUN_EXIT_HANDLERS)) => {
                let in_loader = inner.is_some_and(|inner| glibc::is_loader(inner.image));
                let runs_handler =
                    outer.is_some_and(|outer| glibc::is_indirect_call(outer.image, outer.address));
                if in_loader {
                    Some(ExitStage::LoaderFini)
                } else {
                    runs_handler.then_some(ExitStage::ExitHandler)
                }
            }
            _ => None,
        }
    })
}
