//! What happens at a watched call.

pub mod attach;
mod call;
mod detach;
mod finalize;
mod lookup;

use refsan_capi::{Function, Role};
use refsan_hook::trampoline::{Frame, Site};
use refsan_trace::layout::Registers;

/// A slot of a module and the function behind it.
#[repr(C)]
pub struct CallSite {
    /// What thunk and trampoline need; first, since they know nothing of the rest.
    pub site: Site,
    pub module: u32,
    pub slot: u32,
    /// `None`: the loader's look-up.
    pub function: Option<&'static Function>,
}

/// The site of a slot.
pub fn site(
    function: Option<&'static Function>,
    target: usize,
    module: u32,
    slot: u32,
) -> CallSite {
    let (before, after): (Hook, Hook) = match function.map(|function| function.role) {
        None => (lookup::before, nothing),
        Some(Role::Attach) => (attach::enter, attach::leave),
        Some(Role::Detach) => (detach::before, nothing),
        Some(Role::Finalize) => (finalize::before, nothing),
        Some(_) => (call::before, nothing),
    };
    CallSite {
        site: Site {
            target,
            before,
            after,
        },
        module,
        slot,
        function,
    }
}

type Hook = unsafe extern "C" fn(&Site, &mut Frame);

unsafe extern "C" fn nothing(_: &Site, _: &mut Frame) {}

impl CallSite {
    /// The whole of which `site` is the first field.
    ///
    /// # Safety
    /// `site` must lie in a `CallSite`.
    unsafe fn of(site: &Site) -> &'static CallSite {
        // SAFETY: the caller's promise, and sites are leaked.
        unsafe { &*core::ptr::from_ref(site).cast::<CallSite>() }
    }
}

/// The registers from which a stack can be unwound.
fn registers(frame: &Frame) -> Registers {
    Registers {
        rip: frame.rip,
        rsp: frame.rsp,
        rbp: frame.rbp,
        rbx: frame.rbx,
        r12: frame.r12,
        r13: frame.r13,
        r14: frame.r14,
        r15: frame.r15,
    }
}
