//! The slots of the global offset table through which a binary calls others.

use object::LittleEndian as LE;
use object::elf::{R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT, Rela64, SHN_UNDEF, STB_WEAK};

use crate::image::{Dynamic, Image};
use crate::symbols;

/// How code uses a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotKind {
    /// Only to call: a slot of the procedure linkage table.
    JumpSlot,
    /// To call or to take the address.
    GlobDat,
}

/// A slot that names a symbol.
pub struct Slot<'a> {
    /// The address of the slot.
    pub address: usize,
    /// How code uses it.
    pub kind: SlotKind,
    /// The symbol.
    pub name: &'a str,
    /// The binary defines the symbol itself: a call through the slot may never leave it.
    pub defined_here: bool,
}

/// Why the slots of a binary cannot be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// The loader has not finished with it: another thread is loading it right now.
    NotRelocated,
    /// Its tables make no sense.
    Malformed,
}

fn relocations<'a>(
    image: &'a Image<'_>,
    range: &core::ops::Range<usize>,
) -> Result<&'a [Rela64<LE>], Unusable> {
    let size = range
        .end
        .checked_sub(range.start)
        .ok_or(Unusable::Malformed)?;
    if size == 0 {
        return Ok(&[]);
    }
    image
        .items(range.start, size / size_of::<Rela64<LE>>())
        .ok_or(Unusable::Malformed)
}

/// Calls `visit` for every slot.
///
/// # Errors
/// [`Unusable`], before the first visit. Slots of a binary that is still being relocated must not
/// be touched: the loader would write over them, or find the page read-only.
pub fn for_each(
    image: &Image<'_>,
    dynamic: &Dynamic,
    visit: &mut dyn FnMut(Slot<'_>),
) -> Result<(), Unusable> {
    let tables = [
        (
            relocations(image, &dynamic.relocations)?,
            R_X86_64_GLOB_DAT,
            SlotKind::GlobDat,
        ),
        (
            relocations(image, &dynamic.plt_relocations)?,
            R_X86_64_JUMP_SLOT,
            SlotKind::JumpSlot,
        ),
    ];
    if tables
        .iter()
        .any(|(table, ..)| !last_is_relocated(image, dynamic, table))
    {
        return Err(Unusable::NotRelocated);
    }
    for (table, kind_wanted, kind) in tables {
        for entry in table {
            if entry.r_type(LE, false) != kind_wanted {
                continue;
            }
            let index = entry.r_sym(LE, false) as usize;
            let Some((symbol, name)) = symbols::symbol(image, dynamic, index) else {
                continue;
            };
            let address = image.bias.wrapping_add(entry.r_offset.get(LE) as usize);
            if !image.is_readable(address, size_of::<usize>()) {
                continue;
            }
            let defined_here = symbol.st_shndx.get(LE) != SHN_UNDEF;
            visit(Slot {
                address,
                kind,
                name,
                defined_here,
            });
        }
    }
    Ok(())
}

/// Whether the last relocation of a table that always leaves an address behind has been carried
/// out. The loader goes through a table in order.
fn last_is_relocated(image: &Image<'_>, dynamic: &Dynamic, table: &[Rela64<LE>]) -> bool {
    let last = table.iter().rev().find(|entry| {
        let kind = entry.r_type(LE, false);
        let index = entry.r_sym(LE, false) as usize;
        // A weak symbol may rightly stay null.
        (kind == R_X86_64_GLOB_DAT || kind == R_X86_64_JUMP_SLOT)
            && symbols::symbol(image, dynamic, index)
                .is_some_and(|(symbol, _)| symbol.st_bind() != STB_WEAK)
    });
    last.is_none_or(|entry| {
        let address = image.bias.wrapping_add(entry.r_offset.get(LE) as usize);
        // Before relocation a slot holds zero or an address as the file has it: below its length.
        let length = image.range().len();
        let unrelocated = |value: usize| value == 0 || (image.bias != 0 && value < length);
        image
            .items::<u64>(address, 1)
            .is_some_and(|value| !unrelocated(value[0] as usize))
    })
}
