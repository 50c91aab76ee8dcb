//! C++ classes of the Itanium ABI from their type information: virtual functions of classes
//! such as `std::thread`'s state object are found so in stripped files.

use crate::image::Image;
use crate::links::{Link, LinkedWord};
use crate::names::NameReader;
use crate::target::Target;

/// A class whose type information and virtual table are in the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RttiClass<'a> {
    /// The mangled type name, without `_ZTS`.
    pub mangled_name: &'a str,
    /// Address of the type information.
    pub typeinfo: u64,
    /// Address of the virtual table: two words before the first slot.
    pub vtable: u64,
    /// What the slots hold; the destructor pair comes as complete, then deleting destructor.
    pub slots: Vec<Target<'a>>,
}

/// Most slots of one virtual table.
const MOST_SLOTS: u64 = 4096;

impl Image<'_> {
    /// The classes with type information, as they are found. A class of which several tables
    /// exist (in construction, or one in each of several slices) comes several times.
    ///
    /// Type information is a pointer to a virtual table of the C++ runtime, followed by a
    /// pointer to the name; a virtual table is an offset of zero, followed by a pointer to
    /// type information and the functions.
    pub fn rtti_classes(&self) -> impl Iterator<Item = RttiClass<'_>> + '_ {
        self.typeinfos()
            .flat_map(|(typeinfo, mangled_name)| self.classes_of(typeinfo, mangled_name))
    }

    /// The classes whose mangled name contains the text.
    pub fn rtti_classes_named<'a>(&'a self, part: &'a str) -> impl Iterator<Item = RttiClass<'a>> {
        self.typeinfos()
            .filter(move |(_, name)| name.contains(part))
            .flat_map(|(typeinfo, mangled_name)| self.classes_of(typeinfo, mangled_name))
    }

    fn typeinfos(&self) -> impl Iterator<Item = (u64, &str)> + '_ {
        let mut names = NameReader::new(self.data().len());
        self.parts.links.words().windows(2).filter_map(move |pair| {
            let [first, second] = pair else { return None };
            self.typeinfo(first, second, &mut names)
        })
    }

    fn typeinfo(
        &self,
        first: &LinkedWord,
        second: &LinkedWord,
        names: &mut NameReader,
    ) -> Option<(u64, &str)> {
        let Link::Local(name) = second.link else {
            return None;
        };
        let adjacent = first.address.checked_add(8)? == second.address;
        if !adjacent || !self.may_be_runtime_table(first.link) {
            return None;
        }
        let head = *self.bytes(name, 1)?.first()?;
        if !is_name_start(head) || self.is_code_section(name) {
            return None;
        }
        // A leading star marks a name that is compared by address.
        let name = names.read(self.parts.layout.bytes_from(name)?)?;
        let name = name.trim_start_matches('*');
        let plausible = name.len() > 1 && name.bytes().all(is_name_byte);
        plausible.then_some((first.address, name))
    }

    /// The first word of type information leads to the runtime's own virtual tables, which are
    /// imported, or in this file where the runtime is linked in.
    fn may_be_runtime_table(&self, link: Link) -> bool {
        match link {
            Link::Import(index) => self
                .parts
                .imports
                .get(index as usize)
                .is_some_and(|import| import.name.contains("class_type_info")),
            Link::Local(address) => !self.is_code_section(address),
        }
    }

    fn is_code_section(&self, address: u64) -> bool {
        self.parts.code_region_end(address).is_some()
    }

    fn classes_of<'a>(
        &'a self,
        typeinfo: u64,
        mangled_name: &'a str,
    ) -> impl Iterator<Item = RttiClass<'a>> {
        self.pointers_to(typeinfo).filter_map(move |slot| {
            let vtable = slot.checked_sub(8)?;
            // The primary table of a class begins with an offset of zero, which is not linked.
            if self.parts.layout.u64_at(vtable)? != 0 || self.pointer_at(vtable).is_some() {
                return None;
            }
            let slots = self.vtable_slots(vtable);
            (!slots.is_empty()).then_some(RttiClass {
                mangled_name,
                typeinfo,
                vtable,
                slots,
            })
        })
    }

    /// The functions of a virtual table; imported type information ends it as data does.
    fn vtable_slots(&self, vtable: u64) -> Vec<Target<'_>> {
        (2..MOST_SLOTS)
            .map_while(|index| self.pointer_at(vtable.checked_add(index * 8)?))
            .take_while(|target| match target {
                Target::Local(address) => self.is_executable(*address),
                Target::Import(name) => !name.starts_with("_ZT"),
            })
            .collect()
    }
}

/// How a mangled type name may begin: a length, a nested, local or standard name, a star.
fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'N' | b'S' | b'Z' | b'*')
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$')
}
