//! Reads memory that may not be there: the kernel says no where a load would fault.

use core::ffi::c_void;

use refsan_interpreter::Memory;

/// The memory of this process.
pub struct OwnMemory;

impl Memory for OwnMemory {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        read(address, buffer) == buffer.len()
    }
}

/// Copies memory; returns how many bytes could be read from the start.
fn read(address: u64, buffer: &mut [u8]) -> usize {
    let local = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    let remote = libc::iovec {
        iov_base: address as *mut c_void,
        iov_len: buffer.len(),
    };
    match copy(&local, &[remote]) {
        Ok(count) => count,
        Err(Refused) => read_file(address, buffer),
    }
}

/// The system does not allow the call at all: sandboxes filter it.
struct Refused;

/// `process_vm_readv` on this process. Memory that is not there counts as nothing read.
fn copy(local: &libc::iovec, remote: &[libc::iovec]) -> Result<usize, Refused> {
    // SAFETY: the kernel checks the remote ranges; the local one is a buffer of the caller's.
    let count = unsafe {
        libc::process_vm_readv(
            libc::getpid(),
            local,
            1,
            remote.as_ptr(),
            remote.len() as u64,
            0,
        )
    };
    // SAFETY: libc returns the calling thread's variable.
    let error = unsafe { *libc::__errno_location() };
    match usize::try_from(count) {
        Ok(count) => Ok(count),
        Err(_) if error == libc::EPERM || error == libc::ENOSYS => Err(Refused),
        Err(_) => Ok(0),
    }
}

/// The slower way: the same memory as a file, opened each time, since programs close descriptors
/// that they do not know.
fn read_file(address: u64, buffer: &mut [u8]) -> usize {
    let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
    let file = rustix::fs::open(c"/proc/self/mem", flags, rustix::fs::Mode::empty());
    file.and_then(|file| rustix::io::pread(&file, buffer, address))
        .unwrap_or(0)
}

/// A word at an address.
pub fn word(address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    OwnMemory
        .read(address, &mut bytes)
        .then(|| u64::from_ne_bytes(bytes))
}

/// Copies as many whole pages' worth from `address` on as can be read; returns the bytes copied.
pub fn read_prefix(address: u64, buffer: &mut [u8]) -> usize {
    let mut done = 0;
    while done < buffer.len() {
        let position = address + done as u64;
        // Up to the end of the page: a range is either readable as a whole or not at all.
        let step = (4096 - (position % 4096) as usize).min(buffer.len() - done);
        let Some(part) = buffer.get_mut(done..done + step) else {
            break;
        };
        if read(position, part) != step {
            break;
        }
        done += step;
    }
    done
}

/// How many bytes can be read from `address` on, at most `limit`: whole pages are asked for, several
/// in one system call, but few enough for the small stack of a hook.
pub fn readable(address: u64, limit: usize) -> usize {
    const PAGES: usize = 16;
    let end = address.saturating_add(limit as u64);
    let mut page = address & !4095;
    while page < end {
        let mut byte = [0_u8; PAGES];
        let asked = ((end - page).div_ceil(4096) as usize).min(PAGES);
        let remote: [libc::iovec; PAGES] = core::array::from_fn(|index| libc::iovec {
            iov_base: (page + 4096 * index as u64) as *mut c_void,
            iov_len: 1,
        });
        let remote = remote.get(..asked).unwrap_or_default();
        let local = libc::iovec {
            iov_base: byte.as_mut_ptr().cast(),
            iov_len: asked,
        };
        let there = copy(&local, remote).unwrap_or_else(|Refused| {
            let is_there = |page: &&libc::iovec| read_file(page.iov_base as u64, &mut [0]) == 1;
            remote.iter().take_while(is_there).count()
        });
        page += 4096 * there as u64;
        if there < asked {
            break;
        }
    }
    (page.saturating_sub(address) as usize).min(limit)
}
