//! Where the interpreter is in its life.

use refsan_trace::layout::life;

use crate::interpreter::Interpreter;

/// The life of the interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// Not initialized yet, or being initialized again: nothing is wrong then.
    BeforeInitialization,
    Alive,
    /// The finalizing flag is set and the interpreter exists.
    Finalizing,
    /// It has been deleted.
    Finalized,
}

impl Life {
    pub fn of(interpreter: &Interpreter) -> Life {
        // `Py_IsInitialized` is already 0 while modules are torn down with a thread state attached,
        // and the finalizing flag stays set for good: only both and the interpreter's list tell.
        match (
            interpreter.is_initialized(),
            interpreter.is_finalizing(),
            interpreter.exists(),
        ) {
            (_, true, false) => Life::Finalized,
            (_, true, true) => Life::Finalizing,
            (true, false, _) => Life::Alive,
            (false, false, _) => Life::BeforeInitialization,
        }
    }

    /// The number that the trace has for it; `None` where nothing is recorded.
    pub fn code(self) -> Option<u8> {
        match self {
            Life::BeforeInitialization => None,
            Life::Alive => Some(life::ALIVE),
            Life::Finalizing => Some(life::FINALIZING),
            Life::Finalized => Some(life::FINALIZED),
        }
    }
}
