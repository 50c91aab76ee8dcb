//! How one function jumps to others, and what it does with the addresses that slots hold.

use std::collections::{BTreeSet, HashMap};

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, MemorySize, Mnemonic, OpKind, Register,
};

use crate::binary::Binary;
use crate::function_ranges::FunctionRange;

/// Functions are decoded up to this size, in bytes.
const LARGEST_FUNCTION: u64 = 1 << 20;
/// Where the calling convention passes arguments.
const ARGUMENTS: [Register; 6] = [
    Register::RDI,
    Register::RSI,
    Register::RDX,
    Register::RCX,
    Register::R8,
    Register::R9,
];
/// What a call leaves alone.
const PRESERVED: [Register; 6] = [
    Register::RBX,
    Register::RBP,
    Register::R12,
    Register::R13,
    Register::R14,
    Register::R15,
];

/// Where a jump or call goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Target {
    /// To this address.
    Code(u64),
    /// To what the memory at this address holds.
    Slot(u64),
    /// To what a register holds, or the place on the stack where one was kept.
    Register,
    /// To what an object or table in memory holds.
    Memory,
}

/// A jump out of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Jump {
    pub(crate) address: u64,
    pub(crate) target: Target,
}

/// What is known of the value in a register, between two places that can be jumped to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// What the slot holds.
    Slot(u64),
    /// An entry of a jump table, or the address that was computed from one.
    Table,
}

/// What matters in the code of one function.
#[derive(Debug, Default)]
pub(crate) struct Exits {
    /// In order.
    pub(crate) jumps: Vec<Jump>,
    /// The slots whose values it loads.
    pub(crate) loads: BTreeSet<u64>,
    /// Of those, the slots whose values it may store or hand on.
    pub(crate) escaping: BTreeSet<u64>,
    /// It was too long to be read to its end, or could not be read.
    pub(crate) is_incomplete: bool,
}

impl Exits {
    /// Decodes a function; `is_stub` tells the stubs of imported functions.
    pub(crate) fn read(
        binary: &Binary,
        range: FunctionRange,
        is_stub: impl Fn(u64) -> bool,
    ) -> Exits {
        let Some(instructions) = decode(binary, range) else {
            return Exits {
                is_incomplete: true,
                ..Exits::default()
            };
        };
        let mut reading = Reading {
            exits: Exits {
                is_incomplete: range.end - range.start > LARGEST_FUNCTION,
                ..Exits::default()
            },
            range,
            values: HashMap::new(),
            loads: Vec::new(),
            called: BTreeSet::new(),
            register_jumps: Vec::new(),
        };
        let inner = |instruction: &Instruction| branch_target(instruction);
        let inner: BTreeSet<u64> = instructions.iter().filter_map(inner).collect();
        for instruction in &instructions {
            if inner.contains(&instruction.ip()) {
                reading.values.clear();
            }
            reading.step(instruction, &is_stub);
        }
        reading.finish()
    }

    /// Whether it jumps to an address that its code does not tell.
    pub(crate) fn has_computed_jump(&self) -> bool {
        let is_computed = |jump: &Jump| matches!(jump.target, Target::Register | Target::Memory);
        self.jumps.iter().any(is_computed)
    }
}

/// The call instruction of a function that ends at an address.
pub(crate) fn call_ending_at(
    binary: &Binary,
    range: FunctionRange,
    address: u64,
) -> Option<Target> {
    let instructions = decode(binary, range)?;
    let mut instructions = instructions.iter();
    let found = instructions.find(|instruction| instruction.next_ip() == address)?;
    (found.mnemonic() == Mnemonic::Call).then(|| target(found))
}

fn decode(binary: &Binary, range: FunctionRange) -> Option<Vec<Instruction>> {
    let length = range.end.checked_sub(range.start)?.min(LARGEST_FUNCTION);
    let bytes = binary.code(range.start, length)?;
    let decoder = Decoder::with_ip(64, &bytes, range.start, DecoderOptions::NONE);
    Some(decoder.into_iter().collect())
}

struct Reading {
    exits: Exits,
    range: FunctionRange,
    /// What is known at the current instruction.
    values: HashMap<Register, Value>,
    /// All loads of slots, with the registers.
    loads: Vec<(Register, u64)>,
    /// The registers that are called or jumped to.
    called: BTreeSet<Register>,
    /// Jumps to registers of which nothing was known at the jump.
    register_jumps: Vec<(u64, Register)>,
}

impl Reading {
    fn step(&mut self, instruction: &Instruction, is_stub: &impl Fn(u64) -> bool) {
        match instruction.flow_control() {
            FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                let target = instruction.near_branch_target();
                if !self.range.contains(target) {
                    self.jump(instruction.ip(), Target::Code(target));
                }
                if instruction.flow_control() == FlowControl::UnconditionalBranch {
                    self.values.clear();
                }
            }
            FlowControl::IndirectBranch => self.indirect_jump(instruction),
            FlowControl::Call | FlowControl::IndirectCall => self.call(instruction),
            FlowControl::Return | FlowControl::Interrupt | FlowControl::Exception => {
                self.values.clear();
            }
            FlowControl::Next | FlowControl::XbeginXabortXend => {
                self.compute(instruction, is_stub);
            }
        }
    }

    fn jump(&mut self, address: u64, target: Target) {
        self.exits.jumps.push(Jump { address, target });
    }

    fn indirect_jump(&mut self, instruction: &Instruction) {
        let address = instruction.ip();
        match target(instruction) {
            Target::Register if instruction.op0_kind() == OpKind::Register => {
                let register = instruction.op0_register();
                match self.values.get(&register) {
                    Some(Value::Slot(slot)) => {
                        self.called.insert(register);
                        self.jump(address, Target::Slot(*slot));
                    }
                    Some(Value::Table) => {}
                    None => self.register_jumps.push((address, register)),
                }
            }
            // Code at a fixed address indexes its tables directly.
            Target::Memory if instruction.memory_index_scale() == 8 => {}
            target => self.jump(address, target),
        }
        self.values.clear();
    }

    fn call(&mut self, instruction: &Instruction) {
        if instruction.op0_kind() == OpKind::Register {
            self.called.insert(instruction.op0_register());
        }
        for register in ARGUMENTS {
            self.escape(register);
        }
        self.values
            .retain(|register, _| PRESERVED.contains(register));
    }

    /// The value of the register goes where the code does not tell.
    fn escape(&mut self, register: Register) {
        if let Some(Value::Slot(slot)) = self.values.get(&register) {
            self.exits.escaping.insert(*slot);
        }
    }

    fn compute(&mut self, instruction: &Instruction, is_stub: &impl Fn(u64) -> bool) {
        let destination = match instruction.op0_kind() {
            OpKind::Register => Some(instruction.op0_register().full_register()),
            _ => None,
        };
        let mut value = None;
        match instruction.mnemonic() {
            Mnemonic::Cmp | Mnemonic::Test | Mnemonic::Bt | Mnemonic::Nop => return,
            Mnemonic::Push if destination.is_some() => {
                self.escape(instruction.op0_register());
                return;
            }
            Mnemonic::Lea if instruction.is_ip_rel_memory_operand() => {
                let address = instruction.ip_rel_memory_address();
                if is_stub(address) {
                    self.exits.escaping.insert(address);
                }
            }
            Mnemonic::Mov if instruction.op1_kind() == OpKind::Register => {
                self.escape(instruction.op1_register());
            }
            Mnemonic::Movsxd if instruction.memory_index_scale() == 4 => {
                value = Some(Value::Table);
            }
            Mnemonic::Add => {
                let is_entry = |register: Register| {
                    self.values.get(&register.full_register()) == Some(&Value::Table)
                };
                let register = instruction.op1_kind() == OpKind::Register;
                if is_entry(instruction.op0_register())
                    || (register && is_entry(instruction.op1_register()))
                {
                    value = Some(Value::Table);
                }
            }
            _ => {}
        }
        if loads_address(instruction) {
            let slot = instruction.ip_rel_memory_address();
            self.exits.loads.insert(slot);
            match (instruction.mnemonic(), destination) {
                (Mnemonic::Mov, Some(register)) => {
                    self.loads.push((register, slot));
                    value = Some(Value::Slot(slot));
                }
                _ => {
                    self.exits.escaping.insert(slot);
                }
            }
        }
        if let Some(register) = destination {
            match value {
                Some(value) => self.values.insert(register, value),
                None => self.values.remove(&register),
            };
        }
    }

    fn finish(mut self) -> Exits {
        for (address, register) in std::mem::take(&mut self.register_jumps) {
            self.called.insert(register);
            let loads = self.loads.iter().filter(|load| load.0 == register);
            let slots: BTreeSet<u64> = loads.map(|(_, slot)| *slot).collect();
            for slot in slots {
                self.jump(address, Target::Slot(slot));
            }
            self.jump(address, Target::Register);
        }
        for (register, slot) in &self.loads {
            if !self.called.contains(register) {
                self.exits.escaping.insert(*slot);
            }
        }
        self.exits
    }
}

/// Whether it reads eight bytes at an address relative to its own place.
fn loads_address(instruction: &Instruction) -> bool {
    instruction.is_ip_rel_memory_operand()
        && instruction.op0_kind() != OpKind::Memory
        && matches!(
            instruction.memory_size(),
            MemorySize::UInt64 | MemorySize::Int64
        )
        || instruction.mnemonic() == Mnemonic::Push && instruction.is_ip_rel_memory_operand()
}

/// The target of a direct jump.
fn branch_target(instruction: &Instruction) -> Option<u64> {
    let is_branch = matches!(
        instruction.flow_control(),
        FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch
    );
    is_branch.then(|| instruction.near_branch_target())
}

/// Where a call or an indirect jump goes.
fn target(instruction: &Instruction) -> Target {
    match instruction.op0_kind() {
        OpKind::NearBranch64 => Target::Code(instruction.near_branch_target()),
        OpKind::Memory if instruction.is_ip_rel_memory_operand() => {
            Target::Slot(instruction.ip_rel_memory_address())
        }
        OpKind::Memory => match instruction.memory_base() {
            // A value that was loaded before is often kept there.
            Register::RSP | Register::RBP => Target::Register,
            _ => Target::Memory,
        },
        _ => Target::Register,
    }
}
