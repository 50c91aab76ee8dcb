//! The type of an object that may be dead already.

use crate::dictionary;
use crate::layout::ObjectLayout;
use crate::memory::{Memory, Window, aligned, fill, read_u64, rest_of_page};
use crate::string::Characters;
use crate::text::Text;

/// Bits of `tp_flags`, the same in every version.
#[derive(Clone, Copy)]
#[repr(u64)]
pub(crate) enum Flag {
    HeapType = 1 << 9,
    Ready = 1 << 12,
    BytesSubclass = 1 << 27,
    StringSubclass = 1 << 28,
    TypeSubclass = 1 << 31,
}

impl Flag {
    const fn is_set(self, flags: u64) -> bool {
        flags & self as u64 != 0
    }
}

/// Whether the type at `kind` carries `flag`; None when no type can be there.
pub(crate) fn has_flag<M: Memory + ?Sized>(
    memory: &M,
    objects: &ObjectLayout,
    kind: u64,
    flag: Flag,
) -> Option<bool> {
    let flags = read_u64(memory, aligned(kind)?.checked_add(objects.tp_flags)?)?;
    Some(flag.is_set(flags))
}

/// Names longer than this are no names.
const LONGEST_NAME: usize = 256;
/// Bytes read at a time while looking for the end of a name.
const CHUNK: u64 = 64;

/// A `tp_name`: printable UTF-8, ended by NUL, not empty.
struct TypeName {
    bytes: [u8; LONGEST_NAME],
    length: usize,
}

impl TypeName {
    fn read<M: Memory + ?Sized>(memory: &M, mut address: u64) -> Option<Self> {
        let mut bytes = [0; LONGEST_NAME];
        let mut filled = 0_usize;
        loop {
            // Never past the page that is known to be readable: a name may end where its file does.
            let length = usize::try_from(rest_of_page(address).min(CHUNK)).ok()?;
            let end = filled.checked_add(length)?.min(LONGEST_NAME);
            let chunk = bytes
                .get_mut(filled..end)
                .filter(|chunk| !chunk.is_empty())?;
            if !fill(memory, address, chunk) {
                return None;
            }
            if let Some(nul) = chunk.iter().position(|byte| *byte == 0) {
                let name = Self {
                    bytes,
                    length: filled.checked_add(nul)?,
                };
                let text = name.as_str()?;
                let printable = |c: char| !c.is_control() && c != char::REPLACEMENT_CHARACTER;
                return (!text.is_empty() && text.chars().all(printable)).then_some(name);
            }
            address = address.checked_add(chunk.len() as u64)?;
            filled = end;
        }
    }

    fn as_str(&self) -> Option<&str> {
        core::str::from_utf8(self.bytes.get(..self.length)?).ok()
    }
}

/// What of a type object is needed to name it.
struct TypeObject {
    name: TypeName,
    flags: u64,
    dictionary: u64,
}

impl TypeObject {
    /// None when no type can be at `kind`.
    fn read<M: Memory + ?Sized>(memory: &M, objects: &ObjectLayout, kind: u64) -> Option<Self> {
        let window = Window::<320>::read(memory, kind, objects.tp_dict.checked_add(8)?)?;
        let flags = window.u64(objects.tp_flags)?;
        let metatype = window.u64(objects.ob_type)?;
        let meta = Window::<192>::read(memory, metatype, objects.tp_flags.checked_add(8)?)?;
        let meta_flags = meta.u64(objects.tp_flags)?;
        // Finalization takes the mark "ready" from built-in types (3.11+), `type` among them, while
        // objects that native code still holds lead to them: then the chain must end in `type`.
        let is_root = meta.u64(objects.ob_type)? == metatype && !Flag::HeapType.is_set(meta_flags);
        let static_root = is_root && !Flag::HeapType.is_set(flags);
        if !Flag::TypeSubclass.is_set(meta_flags)
            || !(Flag::Ready.is_set(meta_flags) || is_root)
            || !(Flag::Ready.is_set(flags) || static_root)
        {
            return None;
        }
        let name = TypeName::read(memory, window.u64(objects.tp_name)?)?;
        Some(Self {
            name,
            flags,
            dictionary: window.u64(objects.tp_dict)?,
        })
    }
}

/// True when the type at `kind` is the built-in type of that name.
pub(crate) fn is_type_named<M: Memory + ?Sized>(
    memory: &M,
    objects: &ObjectLayout,
    kind: u64,
    name: &str,
) -> bool {
    TypeObject::read(memory, objects, kind).is_some_and(|found| {
        !Flag::HeapType.is_set(found.flags) && found.name.as_str() == Some(name)
    })
}

/// The name of the type of the object at `object`, as in `dict`, `package.module.Class` or
/// `numpy.ndarray`, written to `out` and cut off at its end.
///
/// None when no type is found there. The memory may have been reused for an object of another type
/// since: a name says what lies there now. It is found after finalization too, unless the type was
/// freed with the module that defined it.
pub fn object_type_name<'o, M: Memory + ?Sized>(
    memory: &M,
    objects: &ObjectLayout,
    object: u64,
    out: &'o mut [u8],
) -> Option<&'o str> {
    let kind = read_u64(memory, aligned(object)?.checked_add(objects.ob_type)?)?;
    let found = TypeObject::read(memory, objects, kind)?;
    let name = found.name.as_str()?;
    let mut module = Text::<128>::new();
    // A type made by a `class` statement has its module in its dictionary, any other one in its name.
    if Flag::HeapType.is_set(found.flags) && !name.contains('.') {
        let value = dictionary::value(memory, objects, found.dictionary, b"__module__");
        let written = value
            .and_then(|value| Characters::of(memory, objects, value))
            .and_then(|characters| characters.write(memory, &mut module));
        if written.is_none() || module.as_str() == "builtins" {
            module = Text::new();
        }
    }
    let separator = if module.as_str().is_empty() { "" } else { "." };
    let mut length = 0_usize;
    for part in [module.as_str(), separator, name] {
        for character in part.chars() {
            let mut encoded = [0; 4];
            let encoded = character.encode_utf8(&mut encoded).as_bytes();
            let end = length.checked_add(encoded.len())?;
            let Some(target) = out.get_mut(length..end) else {
                return core::str::from_utf8(out.get(..length)?).ok();
            };
            target.copy_from_slice(encoded);
            length = end;
        }
    }
    core::str::from_utf8(out.get(..length)?).ok()
}
