//! Reference counts, whose place and rules differ by version.

use crate::layout::{Counting, ObjectLayout};
use crate::memory::{Memory, Window};

/// How often an object is referenced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReferenceCount {
    /// What `Py_REFCNT` would say. In a dead object it may be anything, also negative.
    pub value: i64,
    /// The object is never freed, and the value means nothing.
    pub immortal: bool,
}

/// In `ob_ref_local` of a free-threaded build.
const IMMORTAL_LOCAL: u32 = u32::MAX;
/// What `Py_REFCNT` says of an immortal object of a free-threaded build since 3.14.
const IMMORTAL_VALUE: i64 = 3 << 30;

/// The reference count of the object at `object`; None when it is unreadable.
pub fn reference_count<M: Memory + ?Sized>(
    memory: &M,
    objects: &ObjectLayout,
    object: u64,
) -> Option<ReferenceCount> {
    let header = Window::<32>::read(memory, object, objects.ob_type)?;
    Some(match objects.counting {
        Counting::Word => ReferenceCount {
            value: header.u64(0)?.cast_signed(),
            immortal: false,
        },
        Counting::SignedHalf => ReferenceCount {
            value: header.u64(0)?.cast_signed(),
            immortal: header.i32(0)? < 0,
        },
        Counting::LowHalf => ReferenceCount {
            value: i64::from(header.u32(0)?),
            immortal: header.i32(0)? < 0,
        },
        Counting::Biased { local, shared } => {
            let local = header.u32(local)?;
            if local == IMMORTAL_LOCAL {
                ReferenceCount {
                    value: IMMORTAL_VALUE,
                    immortal: true,
                }
            } else {
                // The two low bits of the shared count are flags.
                let shared = header.u64(shared)?.cast_signed() >> 2;
                let value = i64::from(local).wrapping_add(shared);
                ReferenceCount {
                    value,
                    immortal: false,
                }
            }
        }
    })
}
