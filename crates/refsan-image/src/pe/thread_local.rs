//! The TLS directory: the module's index, and the functions that run when threads come and go.

use super::Headers;
use crate::links::Link;
use crate::parts::{CompactThreadLocal, CompactVariable, Parts};
use crate::thread_local::ThreadLocalModel;
use object::pe;

/// Most callbacks that are taken.
const MOST_CALLBACKS: u64 = 1024;

pub(super) fn read(parts: &mut Parts<'_>, headers: &Headers<'_>) {
    let Some((address, _)) = headers.directory(pe::IMAGE_DIRECTORY_ENTRY_TLS) else {
        return;
    };
    // Start and end of the initial data, address of the index, address of the callbacks.
    let field = |at: u64| {
        let value = parts.layout.u64_at(address.checked_add(at)?)?;
        value.checked_sub(headers.image_base)
    };
    let (index, callbacks) = (field(16), field(24));
    if let Some(address) = index {
        parts.thread_locals.push(CompactThreadLocal {
            address,
            model: ThreadLocalModel::ModuleIndex,
            variable: CompactVariable::Own(0),
        });
    }
    let callbacks = callbacks.unwrap_or(0);
    if callbacks == 0 {
        return;
    }
    let found: Vec<u64> = (0..MOST_CALLBACKS)
        .map_while(|index| match parts.links.at(callbacks + index * 8)? {
            Link::Local(target) => Some(target),
            Link::Import(_) => None,
        })
        .filter(|target| parts.layout.is_executable(*target))
        .collect();
    parts.thread_callbacks = found;
}
