//! Objective-C classes from the metadata that the runtime reads: their methods are roots,
//! because a release of such an object can happen on any thread.

use crate::image::Image;
use crate::names::NameReader;
use crate::target::Target;
use std::cell::RefCell;

/// A method with its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjcMethod<'d> {
    /// The selector, such as `dealloc` or `.cxx_destruct`.
    pub selector: &'d str,
    /// Address of the function.
    pub implementation: u64,
}

/// An instance variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjcVariable<'d> {
    /// Its name.
    pub name: &'d str,
    /// The type in the runtime's encoding: `^{_object}` is `PyObject *`.
    pub type_encoding: &'d str,
    /// Displacement in the object in bytes, as linked; the runtime may slide it.
    pub offset: u32,
    /// Address of the word from which code reads the displacement.
    pub offset_variable: u64,
}

/// A class, or a category that adds methods to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjcClass<'a> {
    /// Name of the class.
    pub name: &'a str,
    /// Name of the category, `None` for the class itself.
    pub category: Option<&'a str>,
    /// Address of the class or category.
    pub address: u64,
    /// The superclass; `None` for roots and categories.
    pub superclass: Option<Target<'a>>,
    /// Methods of objects.
    pub instance_methods: Vec<ObjcMethod<'a>>,
    /// Methods of the class object.
    pub class_methods: Vec<ObjcMethod<'a>>,
    /// Instance variables.
    pub variables: Vec<ObjcVariable<'a>>,
}

impl ObjcClass<'_> {
    /// The function of an instance method.
    #[must_use]
    pub fn implementation(&self, selector: &str) -> Option<u64> {
        let mut methods = self.instance_methods.iter();
        let method = methods.find(|method| method.selector == selector)?;
        Some(method.implementation)
    }
}

/// Most entries of one list.
const MOST_ENTRIES: u32 = 1 << 16;
/// Low bits of a class's data pointer are flags.
const DATA_FLAGS: u64 = 7;
/// Methods are offsets from their own fields.
const RELATIVE: u32 = 1 << 31;
/// Relative methods name the selector itself, not a slot that holds it.
const DIRECT_SELECTOR: u32 = 1 << 30;
const SIZE_MASK: u32 = 0xfffc;
const CLASS_SYMBOL: &str = "OBJC_CLASS_$_";

impl<'d> Image<'d> {
    /// The Objective-C classes and categories that this Mach-O image defines.
    #[must_use]
    pub fn objc_classes(&self) -> Vec<ObjcClass<'_>> {
        let reader = Reader {
            image: self,
            names: RefCell::new(NameReader::new(self.data().len())),
        };
        let classes = reader.listed(&["__objc_classlist", "__objc_nlclslist"]);
        let categories = reader.listed(&["__objc_catlist", "__objc_nlcatlist", "__objc_catlist2"]);
        let classes = classes.into_iter().filter_map(|at| reader.class(at));
        let categories = categories.into_iter().filter_map(|at| reader.category(at));
        classes.chain(categories).collect()
    }
}

/// Reads metadata; lists may overlap in hostile files, so entries count against a bound.
struct Reader<'i, 'd> {
    image: &'i Image<'d>,
    names: RefCell<NameReader>,
}

impl<'i, 'd> Reader<'i, 'd> {
    /// What the pointers of these sections lead to, each once.
    fn listed(&self, names: &[&str]) -> Vec<u64> {
        let sections = self.image.sections().iter();
        let mut listed: Vec<u64> = sections
            .filter(|section| names.contains(&section.name))
            .flat_map(|section| {
                let words = section.size.min(self.image.data().len() as u64) / 8;
                (0..words).filter_map(|index| section.address.checked_add(index * 8))
            })
            .take_while(|_| self.spend(1))
            .filter_map(|slot| self.local(slot))
            .collect();
        listed.sort_unstable();
        listed.dedup();
        listed
    }

    fn spend(&self, bytes: u64) -> bool {
        self.names.borrow_mut().spend(bytes)
    }

    fn text(&self, address: u64) -> Option<&'d str> {
        let bytes = self.image.parts.layout.bytes_from(address)?;
        self.names.borrow_mut().read(bytes)
    }

    fn local(&self, slot: u64) -> Option<u64> {
        self.image.pointer_at(slot)?.local()
    }

    fn local_text(&self, slot: u64) -> Option<&'d str> {
        self.text(self.local(slot)?)
    }

    /// The read-only part of a class: `flags, instanceStart, instanceSize, reserved: u32`, then
    /// pointers to layout, name, methods, protocols and variables.
    fn class_data(&self, class: u64) -> Option<u64> {
        Some(self.local(class.checked_add(32)?)? & !DATA_FLAGS)
    }

    fn class_name(&self, class: u64) -> Option<&'d str> {
        self.local_text(self.class_data(class)?.checked_add(0x18)?)
    }

    fn class(&self, address: u64) -> Option<ObjcClass<'i>> {
        let data = self.class_data(address)?;
        let class_data = self
            .local(address)
            .and_then(|metaclass| self.class_data(metaclass));
        let methods = |data: Option<u64>| {
            data.and_then(|data| self.local(data.checked_add(0x20)?))
                .map_or_else(Vec::new, |list| self.methods(list))
        };
        Some(ObjcClass {
            name: self.local_text(data.checked_add(0x18)?)?,
            category: None,
            address,
            superclass: self.image.pointer_at(address.checked_add(8)?),
            instance_methods: methods(Some(data)),
            class_methods: methods(class_data),
            variables: self
                .local(data.checked_add(0x30)?)
                .map_or_else(Vec::new, |list| self.variables(list)),
        })
    }

    /// A category: pointers to name, class, instance methods, class methods.
    fn category(&self, address: u64) -> Option<ObjcClass<'i>> {
        let methods = |offset: u64| {
            address
                .checked_add(offset)
                .and_then(|slot| self.local(slot))
                .map_or_else(Vec::new, |list| self.methods(list))
        };
        let name = match self.image.pointer_at(address.checked_add(8)?)? {
            Target::Local(class) => self.class_name(class)?,
            Target::Import(symbol) => symbol.strip_prefix(CLASS_SYMBOL).unwrap_or(symbol),
        };
        Some(ObjcClass {
            name,
            category: Some(self.local_text(address)?),
            address,
            superclass: None,
            instance_methods: methods(16),
            class_methods: methods(24),
            variables: Vec::new(),
        })
    }

    fn methods(&self, list: u64) -> Vec<ObjcMethod<'d>> {
        let Some((flags, entries)) = self.list(list) else {
            return Vec::new();
        };
        entries
            .take_while(|entry| self.spend(8) && self.image.bytes(*entry, 4).is_some())
            .filter_map(|entry| {
                if flags & RELATIVE == 0 {
                    return Some(ObjcMethod {
                        selector: self.local_text(entry)?,
                        implementation: self.local(entry.checked_add(16)?)?,
                    });
                }
                let name = self.relative(entry)?;
                Some(ObjcMethod {
                    selector: if flags & DIRECT_SELECTOR == 0 {
                        self.local_text(name)?
                    } else {
                        self.text(name)?
                    },
                    implementation: self.relative(entry.checked_add(8)?)?,
                })
            })
            .filter(|method| self.image.is_executable(method.implementation))
            .collect()
    }

    /// The target of a 32-bit offset from its own address.
    fn relative(&self, field: u64) -> Option<u64> {
        let offset = self.image.parts.layout.u32_at(field)?.cast_signed();
        Some(field.wrapping_add_signed(offset.into()))
    }

    fn variables(&self, list: u64) -> Vec<ObjcVariable<'d>> {
        let Some((_, entries)) = self.list(list) else {
            return Vec::new();
        };
        entries
            .take_while(|entry| self.spend(8) && self.image.bytes(*entry, 4).is_some())
            .filter_map(|entry| {
                let offset_variable = self.local(entry)?;
                Some(ObjcVariable {
                    name: self.local_text(entry.checked_add(8)?)?,
                    type_encoding: self.local_text(entry.checked_add(16)?)?,
                    offset: self.image.parts.layout.u32_at(offset_variable)?,
                    offset_variable,
                })
            })
            .collect()
    }

    /// The header word with the entry size, and the addresses of the entries.
    fn list(&self, list: u64) -> Option<(u32, impl Iterator<Item = u64>)> {
        let flags = self.image.parts.layout.u32_at(list)?;
        let count = self.image.parts.layout.u32_at(list.checked_add(4)?)?;
        let size = u64::from(flags & SIZE_MASK);
        if size < 12 {
            return None;
        }
        let first = list.checked_add(8)?;
        let entries = (0..u64::from(count.min(MOST_ENTRIES)))
            .map_while(move |index| first.checked_add(index * size));
        Some((flags, entries))
    }
}
