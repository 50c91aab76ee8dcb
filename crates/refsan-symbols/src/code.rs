//! Reads the few instructions of a binary that tell which function calls which.

use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

use crate::binary::Binary;
use crate::function_ranges::FunctionRange;

/// The longest encoding of a call, in bytes.
const LONGEST_CALL: u64 = 8;
/// Functions are looked at up to this size, in bytes.
const LONGEST_FUNCTION: u64 = 64 * 1024;

/// What a call instruction calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// The function at this address.
    Direct(u64),
    /// Whatever a register or memory held.
    Indirect,
}

/// The call instruction that ends at `address`; `None` where there is none.
pub(crate) fn call_before(binary: &Binary, address: u64) -> Option<Call> {
    let lengths = (2..=LONGEST_CALL).rev();
    // The direct form first: it is the most frequent, and its target can be checked.
    std::iter::once(5).chain(lengths).find_map(|length| {
        let start = address.checked_sub(length)?;
        let bytes = binary.code(start, length)?;
        let mut decoder = Decoder::with_ip(64, &bytes, start, DecoderOptions::NONE);
        let instruction = decoder.decode();
        if instruction.is_invalid() || instruction.len() as u64 != length {
            return None;
        }
        call(&instruction).filter(|call| match call {
            Call::Direct(target) => binary.is_code(*target),
            Call::Indirect => true,
        })
    })
}

fn call(instruction: &Instruction) -> Option<Call> {
    if instruction.mnemonic() != Mnemonic::Call {
        return None;
    }
    Some(match instruction.op0_kind() {
        OpKind::NearBranch64 => Call::Direct(instruction.near_branch_target()),
        _ => Call::Indirect,
    })
}

/// The instructions of one function.
#[derive(Debug)]
pub(crate) struct Body(Vec<Instruction>);

impl Body {
    /// Decodes from the start of the range to its end. Code that cannot be read is empty.
    pub(crate) fn read(binary: &Binary, range: FunctionRange) -> Body {
        let length = range.end.saturating_sub(range.start).min(LONGEST_FUNCTION);
        let bytes = binary.code(range.start, length).unwrap_or_default();
        let decoder = Decoder::with_ip(64, &bytes, range.start, DecoderOptions::NONE);
        Body(decoder.into_iter().collect())
    }

    /// The targets of direct calls, in order.
    pub(crate) fn direct_calls(&self) -> impl Iterator<Item = u64> + '_ {
        self.0
            .iter()
            .filter_map(|instruction| match call(instruction) {
                Some(Call::Direct(target)) => Some(target),
                _ => None,
            })
    }

    /// Whether it calls through a register or memory, imported functions left aside.
    pub(crate) fn calls_indirectly(&self) -> bool {
        self.0.iter().any(|instruction| {
            call(instruction) == Some(Call::Indirect) && !instruction.is_ip_rel_memory_operand()
        })
    }

    /// Whether it reads the pointer guard: functions that keep or call mangled pointers do.
    pub(crate) fn reads_pointer_guard(&self) -> bool {
        const POINTER_GUARD: u64 = 0x30;
        self.0.iter().any(|instruction| {
            instruction.segment_prefix() == Register::FS
                && instruction.memory_base() == Register::None
                && instruction.memory_index() == Register::None
                && instruction.memory_displacement64() == POINTER_GUARD
                && has_memory_operand(instruction)
        })
    }

    /// Whether it enters the kernel itself.
    pub(crate) fn makes_system_calls(&self) -> bool {
        let mut instructions = self.0.iter();
        instructions.any(|instruction| instruction.mnemonic() == Mnemonic::Syscall)
    }

    /// Whether it loads the number into the register that tells which system call is wanted.
    pub(crate) fn loads(&self, number: u64) -> bool {
        self.0.iter().any(|instruction| {
            instruction.mnemonic() == Mnemonic::Mov
                && instruction.op0_register() == Register::EAX
                && instruction.op1_kind() == OpKind::Immediate32
                && instruction.immediate(1) == number
        })
    }

    /// The addresses that it computes or accesses relative to its own place.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = u64> + '_ {
        let relative = |instruction: &&Instruction| instruction.is_ip_rel_memory_operand();
        self.0
            .iter()
            .filter(relative)
            .map(Instruction::ip_rel_memory_address)
    }

    /// The address that it loads into `register`, relative to its own place.
    pub(crate) fn address_loaded_into(&self, register: Register) -> Option<u64> {
        let found = self.0.iter().find(|instruction| {
            instruction.mnemonic() == Mnemonic::Lea
                && instruction.op0_register() == register
                && instruction.is_ip_rel_memory_operand()
        });
        found.map(Instruction::ip_rel_memory_address)
    }
}

fn has_memory_operand(instruction: &Instruction) -> bool {
    (0..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory)
}
