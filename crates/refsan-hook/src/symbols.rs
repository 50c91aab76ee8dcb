//! Looks up what a binary defines, through its hash table: GNU's, or the older one.
//!
//! The loader's own `dlsym` takes a lock that a thread inside `dlopen` may hold while it waits for
//! us; reading the table does not.

use object::LittleEndian as LE;
use object::elf::{SHN_UNDEF, STT_GNU_IFUNC, Sym64};

use crate::image::{Dynamic, Image};

/// The symbol at an index, with its name.
pub fn symbol<'a>(
    image: &'a Image<'_>,
    dynamic: &Dynamic,
    index: usize,
) -> Option<(&'a Sym64<LE>, &'a str)> {
    let address = dynamic
        .symbols
        .checked_add(index.checked_mul(size_of::<Sym64<LE>>())?)?;
    let symbol = image.items::<Sym64<LE>>(address, 1)?.first()?;
    let name = image.text(
        dynamic
            .strings
            .checked_add(symbol.st_name.get(LE) as usize)?,
    )?;
    Some((symbol, name))
}

/// The runtime address of a function or variable that `image` defines and exports.
pub fn defined(image: &Image<'_>, dynamic: &Dynamic, name: &str) -> Option<usize> {
    if dynamic.gnu_hash != 0 {
        by_gnu_hash(image, dynamic, name)
    } else {
        by_sysv_hash(image, dynamic, name)
    }
}

fn by_sysv_hash(image: &Image<'_>, dynamic: &Dynamic, name: &str) -> Option<usize> {
    let &[buckets, symbols] = image.items::<u32>(dynamic.sysv_hash, 2)? else {
        return None;
    };
    let hash = object::elf::hash(name.as_bytes());
    let bucket = hash.checked_rem(buckets)? as usize;
    let heads = image.items::<u32>(dynamic.sysv_hash + 8, buckets as usize)?;
    let chain = image.items::<u32>(dynamic.sysv_hash + 8 + 4 * heads.len(), symbols as usize)?;
    let mut index = *heads.get(bucket)?;
    // A chain never holds more than all symbols; a damaged one might go in circles.
    for _ in 0..symbols {
        if index == 0 {
            return None;
        }
        if let Some(address) = address_if(image, dynamic, index, name) {
            return Some(address);
        }
        index = *chain.get(index as usize)?;
    }
    None
}

/// The address of the symbol at `index`, if it has this name and is defined here.
fn address_if(image: &Image<'_>, dynamic: &Dynamic, index: u32, name: &str) -> Option<usize> {
    let (symbol, found) = symbol(image, dynamic, index as usize)?;
    // The address of an indirect function is that of its resolver.
    let is_it =
        found == name && symbol.st_shndx.get(LE) != SHN_UNDEF && symbol.st_type() != STT_GNU_IFUNC;
    is_it.then(|| image.bias.wrapping_add(symbol.st_value.get(LE) as usize))
}

fn by_gnu_hash(image: &Image<'_>, dynamic: &Dynamic, name: &str) -> Option<usize> {
    let header = image.items::<u32>(dynamic.gnu_hash, 4)?;
    let [buckets, first_symbol, bloom_words, shift] = header.try_into().ok()?;
    let hash = object::elf::gnu_hash(name.as_bytes());
    let bloom_address = dynamic.gnu_hash + 16;
    let bloom = image.items::<u64>(bloom_address, bloom_words as usize)?;
    let word = bloom.get((hash / 64).checked_rem(bloom_words)? as usize)?;
    let bits = 1_u64 << (hash % 64) | 1_u64 << (hash.checked_shr(shift).unwrap_or(0) % 64);
    if word & bits != bits {
        return None;
    }
    let buckets_address = bloom_address + 8 * bloom_words as usize;
    let bucket = hash.checked_rem(buckets)? as usize;
    let mut index = *image
        .items::<u32>(buckets_address, buckets as usize)?
        .get(bucket)?;
    let chain_address = buckets_address + 4 * buckets as usize;
    while index >= first_symbol {
        let position = chain_address + 4 * (index - first_symbol) as usize;
        let link = *image.items::<u32>(position, 1)?.first()?;
        if link | 1 == hash | 1
            && let Some(address) = address_if(image, dynamic, index, name)
        {
            return Some(address);
        }
        if link & 1 == 1 {
            return None;
        }
        index = index.checked_add(1)?;
    }
    None
}
