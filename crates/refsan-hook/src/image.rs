//! The binaries that are mapped into this process, read in place.
//!
//! Every address that a header names is checked to lie in a readable segment of the same binary
//! before it is followed: a protected or hand-made binary must not take the program down.

use core::ffi::{CStr, c_int, c_void};
use core::ops::{ControlFlow, Range};

use object::LittleEndian as LE;
use object::elf::{
    Dyn64, PF_R, PT_DYNAMIC, PT_GNU_RELRO, PT_LOAD, PT_NOTE, ProgramHeader64, ProgramType,
};
use object::pod::Pod;

/// One mapped binary. Valid only inside [`for_each`], which keeps it from being unloaded.
pub struct Image<'a> {
    /// Runtime address minus the address in the file.
    pub bias: usize,
    /// The path as the loader has it; empty for the main program.
    pub path: &'a CStr,
    /// The number of the binary's thread-local block; 0: it has none.
    pub tls_module: usize,
    /// The address of that block for the calling thread; 0: not allocated yet.
    pub tls_block: usize,
    headers: &'a [ProgramHeader64<LE>],
}

/// Calls `visit` for every binary, in the order of loading, until it breaks. The loader's list is
/// locked meanwhile: `visit` must not load, unload or look up anything through the loader.
pub fn for_each(visit: &mut dyn FnMut(&Image<'_>) -> ControlFlow<()>) {
    unsafe extern "C" fn each(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: `data` is the reference that was passed to `dl_iterate_phdr` below.
        let visit = unsafe { &mut *data.cast::<&mut dyn FnMut(&Image<'_>) -> ControlFlow<()>>() };
        // SAFETY: the loader passes a valid structure, and keeps what it points at while it calls.
        let (info, headers, path) = unsafe {
            let info = &*info;
            let headers =
                core::slice::from_raw_parts(info.dlpi_phdr.cast(), info.dlpi_phnum.into());
            let path = if info.dlpi_name.is_null() {
                c""
            } else {
                CStr::from_ptr(info.dlpi_name)
            };
            (info, headers, path)
        };
        let image = Image {
            bias: info.dlpi_addr as usize,
            path,
            tls_module: info.dlpi_tls_modid,
            tls_block: info.dlpi_tls_data as usize,
            headers,
        };
        visit(&image).is_break().into()
    }
    let mut visit = visit;
    // SAFETY: `each` gets the reference back as what it is, and only during this call.
    unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut visit).cast()) };
}

/// How many binaries have been loaded so far: when it has not changed, there is nothing new.
pub fn loads() -> u64 {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        data: *mut c_void,
    ) -> c_int {
        // SAFETY: the loader passes a valid structure, and `data` is the number below.
        unsafe { *data.cast::<u64>() = (*info).dlpi_adds };
        1
    }
    let mut loads = 0_u64;
    // SAFETY: `first` writes to the number that lives during the call.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut loads).cast()) };
    loads
}

/// The start of the loader's list of binaries, as debuggers find it (`link.h`).
#[repr(C)]
struct DebugList {
    version: c_int,
    first: *const LinkMap,
}

#[repr(C)]
struct LinkMap {
    bias: usize,
    name: *const core::ffi::c_char,
    dynamic: usize,
    next: *const LinkMap,
}

// SAFETY: the loader exports its list for debuggers under this name, with this start.
unsafe extern "C" {
    static _r_debug: DebugList;
}

/// How many binaries are loaded, counted without the loader's lock.
///
/// # Safety
/// Only while no other thread can load or unload: in a forked child that has one thread.
pub unsafe fn count_without_lock() -> usize {
    // SAFETY: the caller keeps the list from changing.
    let mut next = unsafe { _r_debug.first };
    let mut count = 0;
    while !next.is_null() {
        count += 1;
        // SAFETY: as above; entries are linked until a null pointer.
        next = unsafe { (*next).next };
    }
    count
}

impl Image<'_> {
    /// The same image for as long as the process lives.
    ///
    /// # Safety
    /// The binary must never be unloaded.
    pub unsafe fn forever(&self) -> Image<'static> {
        // SAFETY: the loader keeps path and headers as long as the binary is loaded.
        let (path, headers) = unsafe {
            (
                CStr::from_ptr(self.path.as_ptr()),
                core::slice::from_raw_parts(self.headers.as_ptr(), self.headers.len()),
            )
        };
        Image {
            path,
            headers,
            ..*self
        }
    }

    fn of_type(&self, wanted: ProgramType) -> impl Iterator<Item = &ProgramHeader64<LE>> {
        self.headers
            .iter()
            .filter(move |header| header.p_type.get(LE) == wanted)
    }

    /// From the lowest to the highest mapped address; empty when nothing is mapped.
    pub fn range(&self) -> Range<usize> {
        let segments = self.of_type(PT_LOAD).map(|header| {
            let start = self.bias.wrapping_add(header.p_vaddr.get(LE) as usize);
            start..start.wrapping_add(header.p_memsz.get(LE) as usize)
        });
        segments
            .reduce(|all, one| all.start.min(one.start)..all.end.max(one.end))
            .unwrap_or_default()
    }

    /// The part that the loader makes read-only after relocation, in whole pages; empty without one.
    pub fn relro(&self) -> Range<usize> {
        self.of_type(PT_GNU_RELRO).next().map_or(0..0, |header| {
            let start = self.bias.wrapping_add(header.p_vaddr.get(LE) as usize);
            let end = start.wrapping_add(header.p_memsz.get(LE) as usize);
            // As the loader does it: a page that is only partly covered at the end stays writable.
            (start & !0xfff)..(end & !0xfff)
        })
    }

    /// The runtime address that a dynamic tag names. The loader has relocated most of them in
    /// place, but not those of every binary.
    fn relocated(&self, value: usize) -> usize {
        if value < self.bias {
            value.wrapping_add(self.bias)
        } else {
            value
        }
    }

    /// Whether `length` bytes at a runtime address lie in a readable segment of this binary.
    pub fn is_readable(&self, address: usize, length: usize) -> bool {
        let Some(end) = address.checked_add(length) else {
            return false;
        };
        self.of_type(PT_LOAD)
            .filter(|header| header.p_flags.get(LE).0 & PF_R.0 != 0)
            .any(|header| {
                let start = self.bias.wrapping_add(header.p_vaddr.get(LE) as usize);
                let limit = start.wrapping_add(header.p_memsz.get(LE) as usize);
                start <= address && end <= limit
            })
    }

    /// Items at a runtime address, if they lie in this binary.
    pub fn items<T: Pod>(&self, address: usize, count: usize) -> Option<&[T]> {
        let length = size_of::<T>().checked_mul(count)?;
        let aligned = address.is_multiple_of(align_of::<T>());
        // SAFETY: readable, aligned and valid for every bit pattern; the loader does not unmap a
        // binary during `for_each`. Relocated data may change, but not these tables.
        (aligned && self.is_readable(address, length))
            .then(|| unsafe { core::slice::from_raw_parts(address as *const T, count) })
    }

    /// The zero-terminated text at a runtime address.
    pub fn text(&self, address: usize) -> Option<&str> {
        let segment_end = self.of_type(PT_LOAD).find_map(|header| {
            let start = self.bias.wrapping_add(header.p_vaddr.get(LE) as usize);
            let end = start.wrapping_add(header.p_memsz.get(LE) as usize);
            (start..end).contains(&address).then_some(end)
        })?;
        // No symbol that refsan looks for is longer.
        let bytes = self.items::<u8>(address, (segment_end - address).min(512))?;
        CStr::from_bytes_until_nul(bytes).ok()?.to_str().ok()
    }

    /// The dynamic section.
    pub fn dynamic(&self) -> Option<Dynamic> {
        let header = self.of_type(PT_DYNAMIC).next()?;
        let address = self.bias.wrapping_add(header.p_vaddr.get(LE) as usize);
        let count = header.p_memsz.get(LE) as usize / size_of::<Dyn64<LE>>();
        let entries = self.items::<Dyn64<LE>>(address, count)?;
        let mut dynamic = Dynamic::default();
        for entry in entries {
            let value = entry.d_val.get(LE) as usize;
            use object::elf;
            match entry.d_tag.get(LE) {
                elf::DT_NULL => break,
                elf::DT_SYMTAB => dynamic.symbols = self.relocated(value),
                elf::DT_STRTAB => dynamic.strings = self.relocated(value),
                elf::DT_HASH => dynamic.sysv_hash = self.relocated(value),
                elf::DT_GNU_HASH => dynamic.gnu_hash = self.relocated(value),
                elf::DT_RELA => dynamic.relocations.start = self.relocated(value),
                elf::DT_RELASZ => dynamic.relocations.end = value,
                elf::DT_JMPREL => dynamic.plt_relocations.start = self.relocated(value),
                elf::DT_PLTRELSZ => dynamic.plt_relocations.end = value,
                _ => {}
            }
        }
        // The sizes stood in `end` until both tags were known.
        dynamic.relocations.end += dynamic.relocations.start;
        dynamic.plt_relocations.end += dynamic.plt_relocations.start;
        Some(dynamic)
    }

    /// The build id of the GNU note, at most 20 bytes.
    pub fn build_id(&self) -> Option<&[u8]> {
        for header in self.of_type(PT_NOTE) {
            let mut address = self.bias.wrapping_add(header.p_vaddr.get(LE) as usize);
            let end = address.wrapping_add(header.p_memsz.get(LE) as usize);
            while let Some(&[name, length, kind]) = self.items::<u32>(address, 3) {
                let (name, length) = (name as usize, length as usize);
                let body = address
                    .wrapping_add(12)
                    .wrapping_add(name.checked_next_multiple_of(4)?);
                if kind == object::elf::NT_GNU_BUILD_ID.0
                    && self.items::<u8>(address + 12, name) == Some(b"GNU\0")
                {
                    return self.items::<u8>(body, length.min(20));
                }
                address = body.wrapping_add(length.checked_next_multiple_of(4)?);
                if address >= end {
                    break;
                }
            }
        }
        None
    }
}

/// The parts of a dynamic section that hooking needs: runtime addresses, 0 where absent.
#[derive(Clone, Default)]
pub struct Dynamic {
    /// The dynamic symbols.
    pub symbols: usize,
    /// Their names.
    pub strings: usize,
    /// The hash table of the System V ABI.
    pub sysv_hash: usize,
    /// The GNU hash table.
    pub gnu_hash: usize,
    /// The relocations outside the procedure linkage table.
    pub relocations: Range<usize>,
    /// The relocations of the procedure linkage table.
    pub plt_relocations: Range<usize>,
}
