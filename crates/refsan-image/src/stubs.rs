//! The few shapes of linkage stubs: which slot a stub jumps through.

use iced_x86::{Code, Decoder, DecoderOptions};

/// Longest x86-64 stub: `endbr64; bnd jmp *slot(%rip)`.
const X86_64_STUB: usize = 16;

/// `[endbr64] [bnd] jmp *slot(%rip)`, the shape of ELF PLTs, Mach-O stubs and import thunks.
pub(crate) fn x86_64_slot(code: &[u8], address: u64) -> Option<u64> {
    let window = &code[..code.len().min(X86_64_STUB)];
    let mut decoder = Decoder::with_ip(64, window, address, DecoderOptions::NONE);
    let mut instruction = decoder.decode();
    if instruction.code() == Code::Endbr64 {
        instruction = decoder.decode();
    }
    (instruction.code() == Code::Jmp_rm64 && instruction.is_ip_rel_memory_operand())
        .then(|| instruction.ip_rel_memory_address())
}

const BTI_C: u32 = 0xd503_245f;
const NOP: u32 = 0xd503_201f;
/// Longest aarch64 stub, in instructions.
const AARCH64_STUB: usize = 6;

/// `adrp; ldr; [add]; br` (ELF, Mach-O), `adrp; add; ldr; braa` (arm64e) and `ldr literal; br`
/// (Mach-O, near slots), each after `bti c` or `nop`.
pub(crate) fn aarch64_slot(code: &[u8], address: u64) -> Option<u64> {
    let mut register_values: [Option<u64>; 32] = [None; 32];
    let mut loaded: Option<(u32, u64)> = None;
    let words = code.chunks_exact(4).take(AARCH64_STUB);
    for (bytes, pc) in words.zip((address..).step_by(4)) {
        let word = u32::from_le_bytes(bytes.try_into().ok()?);
        let destination = word & 0x1f;
        let source = (word >> 5) & 0x1f;
        if word == BTI_C || word == NOP {
            continue;
        }
        if word & 0x9f00_0000 == 0x9000_0000 {
            // adrp
            let pages = ((word >> 5) & 0x7_ffff) << 2 | (word >> 29) & 3;
            let pages = i64::from(pages) << 43 >> 43;
            register_values[destination as usize] =
                Some((pc & !0xfff).wrapping_add_signed(pages << 12));
        } else if word & 0xffc0_0000 == 0x9100_0000 {
            // add, immediate: some linkers form the slot's address beside the load
            let value = register_values[source as usize]?;
            let immediate = u64::from((word >> 10) & 0xfff);
            register_values[destination as usize] = Some(value.wrapping_add(immediate));
        } else if word & 0xffc0_0000 == 0xf940_0000 {
            // ldr, unsigned offset
            let base = register_values[source as usize]?;
            let offset = u64::from((word >> 10) & 0xfff) * 8;
            loaded = Some((destination, base.wrapping_add(offset)));
        } else if word & 0xff00_0000 == 0x5800_0000 {
            // ldr, literal
            let words = i64::from((word >> 5) & 0x7_ffff) << 45 >> 45;
            loaded = Some((destination, pc.wrapping_add_signed(words * 4)));
        } else if word & 0xffff_fc1f == 0xd61f_0000 || word & 0xffff_fc00 == 0xd71f_0800 {
            // br, braa
            return loaded
                .filter(|(register, _)| *register == source)
                .map(|(_, slot)| slot);
        } else {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{aarch64_slot, x86_64_slot};

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn x86_64_shapes() {
        let plain = [0xff, 0x25, 0x0a, 0, 0, 0, 0x68, 0, 0, 0, 0];
        assert_eq!(x86_64_slot(&plain, 0x1000), Some(0x1010));
        let branch_tracking = [
            0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, 0x05, 0, 0, 0, 0x0f, 0x1f, 0x44, 0, 0,
        ];
        assert_eq!(x86_64_slot(&branch_tracking, 0x1000), Some(0x1010));
        assert_eq!(x86_64_slot(&[0xc3], 0x1000), None);
        assert_eq!(x86_64_slot(&[], 0x1000), None);
    }

    #[test]
    fn aarch64_shapes() {
        // adrp x16, +0x20000; ldr x17, [x16, #0x18]; add x16, x16, #0x18; br x17
        let elf = words(&[0x9000_0110, 0xf940_0e11, 0x9100_6210, 0xd61f_0220]);
        assert_eq!(aarch64_slot(&elf, 0x1000), Some(0x21018));
        // The same below: adrp x16, -0x1000
        let below = words(&[0xf0ff_fff0, 0xf940_0e11, 0x9100_6210, 0xd61f_0220]);
        assert_eq!(aarch64_slot(&below, 0x5123_4000), Some(0x5123_3018));
        // nop; ldr x16, +0x10; br x16
        let near = words(&[0xd503_201f, 0x5800_0090, 0xd61f_0200]);
        assert_eq!(aarch64_slot(&near, 0x1000), Some(0x1014));
        // Another register than the loaded one
        let other = words(&[0x9000_0110, 0xf940_0e11, 0xd61f_0200]);
        assert_eq!(aarch64_slot(&other, 0x1000), None);
    }
}
