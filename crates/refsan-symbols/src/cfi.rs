//! Finds a frame's caller by the call frame information of a file.

use gimli::{
    CfaRule, EndianSlice, Evaluation, EvaluationResult, LittleEndian, Register, RegisterRule,
    UnwindContext, UnwindExpression, Value, X86_64,
};
use refsan_trace::StackMemory;

use crate::function_ranges::{Entry, UnwindSections};

/// The registers that a function leaves as they were, by the x86-64 ABI; the stack pointer aside.
const CALLEE_SAVED: [Register; 6] = [
    X86_64::RBX,
    X86_64::RBP,
    X86_64::R12,
    X86_64::R13,
    X86_64::R14,
    X86_64::R15,
];
/// Registers by their DWARF number, the return address last.
const COUNT: u16 = 17;
/// Steps after which an expression is given up.
const EXPRESSION_LIMIT: u32 = 1000;

/// The registers at a frame, as far as they are known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Registers([Option<u64>; COUNT as usize]);

impl Registers {
    /// Those of a snapshot.
    pub(crate) fn of(stack: &StackMemory) -> Registers {
        let recorded = &stack.registers;
        let mut registers = Registers::default();
        for (register, value) in [
            (X86_64::RA, recorded.rip),
            (X86_64::RSP, recorded.rsp),
            (X86_64::RBP, recorded.rbp),
            (X86_64::RBX, recorded.rbx),
            (X86_64::R12, recorded.r12),
            (X86_64::R13, recorded.r13),
            (X86_64::R14, recorded.r14),
            (X86_64::R15, recorded.r15),
        ] {
            registers.set(register, Some(value));
        }
        registers
    }

    pub(crate) fn get(&self, register: Register) -> Option<u64> {
        *self.0.get(usize::from(register.0))?
    }

    pub(crate) fn set(&mut self, register: Register, value: Option<u64>) {
        if let Some(slot) = self.0.get_mut(usize::from(register.0)) {
            *slot = value;
        }
    }
}

/// A frame's caller.
pub(crate) enum Caller {
    /// The registers after the return; the return address is among them.
    Found(Box<Registers>),
    /// There is none: the frame is the first of its thread.
    None,
    /// What is needed was not recorded, or the information makes no sense.
    Unknown,
}

/// The word at an address of the recorded stack.
pub(crate) fn word(stack: &StackMemory, address: u64) -> Option<u64> {
    let offset = usize::try_from(address.checked_sub(stack.start)?).ok()?;
    let bytes = stack.bytes.get(offset..offset.checked_add(8)?)?;
    Some(u64::from_le_bytes(bytes.try_into().ok()?))
}

/// The caller of the frame whose code at `address`, in the file's own addresses, `entry` covers.
pub(crate) fn caller(
    sections: &UnwindSections,
    entry: &Entry<'_>,
    address: u64,
    registers: &Registers,
    stack: &StackMemory,
) -> Caller {
    let mut context = UnwindContext::new();
    let row = entry.description.unwind_info_for_address(
        &sections.frames(),
        &sections.bases,
        &mut context,
        address,
    );
    let Ok(row) = row else {
        return Caller::Unknown;
    };
    let frame = Frame {
        sections,
        encoding: entry.description.cie().encoding(),
        registers,
        stack,
    };
    if matches!(row.register(X86_64::RA), Some(RegisterRule::Undefined)) {
        return Caller::None;
    }
    let Some(cfa) = frame.cfa(row.cfa()) else {
        return Caller::Unknown;
    };
    // The stack shrinks with every return. Signal handlers can run on a stack of their own.
    let advances = registers.get(X86_64::RSP).is_none_or(|sp| sp < cfa);
    if !advances && !entry.is_signal_frame() {
        return Caller::Unknown;
    }
    let mut found = Registers::default();
    for register in (0..COUNT).map(Register) {
        let value = match row.register(register) {
            Some(rule) => frame.register(register, &rule, cfa),
            None if register == X86_64::RSP => Some(cfa),
            None if CALLEE_SAVED.contains(&register) => registers.get(register),
            None => None,
        };
        found.set(register, value);
    }
    match found.get(X86_64::RA) {
        Some(0) => Caller::None,
        Some(_) => Caller::Found(Box::new(found)),
        None => Caller::Unknown,
    }
}

/// The caller by the frame pointer, for code without call frame information.
pub(crate) fn caller_by_frame_pointer(registers: &Registers, stack: &StackMemory) -> Caller {
    let caller = || {
        let frame = registers.get(X86_64::RBP)?;
        let is_sound = frame % 8 == 0 && registers.get(X86_64::RSP)? <= frame;
        let mut found = Registers::default();
        found.set(X86_64::RBP, word(stack, frame));
        found.set(X86_64::RA, word(stack, frame.checked_add(8)?));
        found.set(X86_64::RSP, frame.checked_add(16));
        (is_sound && found.get(X86_64::RA).is_some()).then_some(Caller::Found(Box::new(found)))
    };
    caller().unwrap_or(Caller::Unknown)
}

struct Frame<'a> {
    sections: &'a UnwindSections,
    encoding: gimli::Encoding,
    registers: &'a Registers,
    stack: &'a StackMemory,
}

impl Frame<'_> {
    /// The canonical frame address: the stack pointer before the call.
    fn cfa(&self, rule: &CfaRule<usize>) -> Option<u64> {
        match rule {
            CfaRule::RegisterAndOffset { register, offset } => {
                Some(self.registers.get(*register)?.wrapping_add_signed(*offset))
            }
            CfaRule::Expression(expression) => self.evaluate(expression, None),
        }
    }

    fn register(&self, register: Register, rule: &RegisterRule<usize>, cfa: u64) -> Option<u64> {
        match rule {
            RegisterRule::SameValue => self.registers.get(register),
            RegisterRule::Offset(offset) => word(self.stack, cfa.wrapping_add_signed(*offset)),
            RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add_signed(*offset)),
            RegisterRule::Register(other) => self.registers.get(*other),
            RegisterRule::Expression(expression) => {
                word(self.stack, self.evaluate(expression, Some(cfa))?)
            }
            RegisterRule::ValExpression(expression) => self.evaluate(expression, Some(cfa)),
            RegisterRule::Constant(value) => Some(*value),
            _ => None,
        }
    }

    fn evaluate(&self, expression: &UnwindExpression<usize>, initial: Option<u64>) -> Option<u64> {
        let expression = expression.get(&self.sections.frames()).ok()?;
        let mut evaluation = expression.evaluation(self.encoding);
        evaluation.set_max_iterations(EXPRESSION_LIMIT);
        if let Some(initial) = initial {
            evaluation.set_initial_value(initial);
        }
        self.complete(&mut evaluation)?;
        evaluation.value_result()?.to_u64(u64::MAX).ok()
    }

    fn complete(&self, evaluation: &mut Evaluation<EndianSlice<'_, LittleEndian>>) -> Option<()> {
        let mut result = evaluation.evaluate().ok()?;
        loop {
            let next = match result {
                EvaluationResult::Complete => return Some(()),
                EvaluationResult::RequiresMemory { address, size, .. } => {
                    let mask = u64::MAX.checked_shr(64_u32.checked_sub(8 * u32::from(size))?)?;
                    let value = word(self.stack, address)? & mask;
                    evaluation.resume_with_memory(Value::Generic(value))
                }
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = self.registers.get(register)?;
                    evaluation.resume_with_register(Value::Generic(value))
                }
                _ => return None,
            };
            result = next.ok()?;
        }
    }
}
