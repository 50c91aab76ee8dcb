//! Learns where the interpreter keeps the current thread state, from the machine code of the
//! exported function that returns it.
//!
//! The place is no part of any interface, and differs between versions and builds. The function is
//! a handful of instructions: an address, perhaps a thread-local one, and one load. They are
//! followed with concrete values; anything unexpected means "not known", and the function is then
//! called instead.

use iced_x86::{Code, Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

use crate::memory;

/// Where the word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a fixed address, one for all threads.
    Global(usize),
    /// At this offset from the calling thread's thread pointer, for the calling thread.
    ThreadLocal(isize),
}

// SAFETY: the loader defines it so (x86-64 ABI for thread-local storage).
unsafe extern "C" {
    fn __tls_get_addr(index: *const [usize; 2]) -> *mut u8;
}

/// More instructions than any such function has.
const LIMIT: usize = 16;

#[derive(Clone, Copy, Default)]
struct Value {
    number: u64,
    /// It was computed from the thread pointer.
    thread_local: bool,
    /// The address of the last load that made it.
    loaded_from: Option<u64>,
}

/// Follows `function`.
///
/// # Safety
/// `function` must be the getter: a function of no arguments that only reads.
pub unsafe fn place(function: usize) -> Option<Place> {
    let mut code = [0_u8; 96];
    let length = memory::read_prefix(function as u64, &mut code);
    let mut decoder = Decoder::with_ip(
        64,
        code.get(..length)?,
        function as u64,
        DecoderOptions::NONE,
    );
    let (mut rax, mut rdi, mut rdx) = (None::<Value>, None::<Value>, None::<Value>);
    let mut instruction = Instruction::default();
    for _ in 0..LIMIT {
        if !decoder.can_decode() {
            return None;
        }
        decoder.decode_out(&mut instruction);
        match instruction.mnemonic() {
            Mnemonic::Endbr64 | Mnemonic::Nop | Mnemonic::Push | Mnemonic::Pop => {}
            Mnemonic::Sub | Mnemonic::Add if instruction.op0_register() == Register::RSP => {}
            Mnemonic::Mov
                if instruction.op0_register() == Register::RBP
                    && instruction.op1_register() == Register::RSP => {}
            Mnemonic::Lea if instruction.is_ip_rel_memory_operand() => {
                let number = instruction.ip_rel_memory_address();
                let value = Some(Value {
                    number,
                    ..Value::default()
                });
                match instruction.op0_register() {
                    Register::RDI => rdi = value,
                    Register::RAX => rax = value,
                    Register::RDX => rdx = value,
                    _ => return None,
                }
            }
            Mnemonic::Call => {
                // Only the loader's function is called with an index in rdi.
                let index = rdi?.number as *const [usize; 2];
                // SAFETY: such a function calls nothing else; rdi points at the index in its table.
                let address = unsafe { __tls_get_addr(index) } as u64;
                rax = Some(Value {
                    number: address,
                    thread_local: true,
                    loaded_from: None,
                });
            }
            Mnemonic::Mov if instruction.code() == Code::Mov_r64_rm64 => {
                let value = load(&instruction, rax, rdx)?;
                match instruction.op0_register() {
                    Register::RAX => rax = Some(value),
                    Register::RDX => rdx = Some(value),
                    _ => return None,
                }
            }
            Mnemonic::Ret => {
                let value = rax?;
                let address = value.loaded_from?;
                return Some(if value.thread_local {
                    Place::ThreadLocal(address.wrapping_sub(thread_pointer()).cast_signed() as isize)
                } else {
                    Place::Global(address as usize)
                });
            }
            _ => return None,
        }
    }
    None
}

/// What `mov register, [memory]` loads.
fn load(instruction: &Instruction, rax: Option<Value>, rdx: Option<Value>) -> Option<Value> {
    if instruction.op1_kind() != OpKind::Memory || instruction.memory_index() != Register::None {
        return None;
    }
    let displacement = instruction.memory_displacement64();
    let base = match instruction.memory_base() {
        Register::None | Register::RIP | Register::EIP => Value::default(),
        Register::RAX => rax?,
        Register::RDX => rdx?,
        _ => return None,
    };
    let in_thread = instruction.segment_prefix() == Register::FS;
    let segment = if in_thread { thread_pointer() } else { 0 };
    let address = segment.wrapping_add(base.number).wrapping_add(displacement);
    let number = memory::word(address)?;
    let thread_local = in_thread || base.thread_local;
    Some(Value {
        number,
        thread_local,
        loaded_from: Some(address),
    })
}

fn thread_pointer() -> u64 {
    let pointer: u64;
    // SAFETY: the first word of a thread's block is its own address (x86-64 ABI).
    unsafe {
        core::arch::asm!("mov {}, qword ptr fs:[0]", out(reg) pointer, options(nostack, pure, readonly))
    };
    pointer
}
