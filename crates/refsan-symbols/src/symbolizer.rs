//! The door to this crate: from addresses of a recorded process to frames.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use refsan_model::{Frame, SymbolQuality};
use refsan_trace::layout::module_role;
use refsan_trace::{Module, Slot, StackMemory, Trace};

use crate::call_site::{self, CallSite, Question};
use crate::debug_file::hexadecimal;
use crate::exit_stage::{self, Caller, ExitStage};
use crate::function_ranges::FunctionRange;
use crate::image::{Image, Place};
use crate::unwind::{self, Location, Unwound};
use crate::warning::SymbolWarning;

/// Where distributions put separate debug files.
const DEBUG_DIRECTORY: &str = "/usr/lib/debug";
/// The loader's name for the code that the kernel maps; it has no file.
const VDSO: &str = "linux-vdso.so.1";

/// Unwinds stacks and names addresses. Each binary is opened once, when it is first needed, and
/// serves all traces.
pub struct Symbolizer {
    debug_directories: Vec<PathBuf>,
    /// By path and build id; `None` where the file cannot be used.
    images: HashMap<(String, Vec<u8>), Option<Rc<Image>>>,
    warnings: Vec<SymbolWarning>,
}

impl Default for Symbolizer {
    fn default() -> Self {
        Self::new()
    }
}

impl Symbolizer {
    /// Looks for separate debug files where distributions put them.
    pub fn new() -> Self {
        Self::with_debug_directories(vec![PathBuf::from(DEBUG_DIRECTORY)])
    }

    /// Looks for separate debug files in `debug_directories`, and beside the binaries.
    pub fn with_debug_directories(debug_directories: Vec<PathBuf>) -> Self {
        Self {
            debug_directories,
            images: HashMap::new(),
            warnings: Vec::new(),
        }
    }

    /// Walks up a recorded stack from its registers.
    pub fn unwind(&mut self, trace: &Trace, stack: &StackMemory) -> Unwound {
        unwind::unwind(stack, |address| {
            let Some(module) = module_at(trace, address) else {
                return Location::Nowhere;
            };
            match self.image(module) {
                Some(image) => Location::File(image, module.bias),
                None => Location::Unreadable,
            }
        })
    }

    /// The frames at an address: functions that were inlined there first, then the one that they
    /// were inlined into. There is always at least one, perhaps without a name.
    pub fn frames(&mut self, trace: &Trace, address: u64, is_return_address: bool) -> Vec<Frame> {
        // A call can be the last instruction of its function, or of its source line.
        let looked_up = address.wrapping_sub(u64::from(is_return_address));
        let Some(module) = module_at(trace, looked_up) else {
            return vec![Frame::default()];
        };
        let places = match self.image(module) {
            Some(image) => image.places(looked_up.wrapping_sub(module.bias)),
            None => vec![Place::default()],
        };
        let inlined = places.len() - 1;
        let frame = |(index, place): (usize, Place)| Frame {
            function: place.function,
            module: Some(base_name(&module.path)),
            offset: Some(address.wrapping_sub(module.bias)),
            file: place.file,
            line: place.line,
            inlined: index < inlined,
            watched: module.role == module_role::WATCHED,
            own: module.role == module_role::RUNTIME,
        };
        places.into_iter().enumerate().map(frame).collect()
    }

    /// What a module's file, or its separate debug file, says about its functions.
    pub fn quality(&mut self, module: &Module) -> SymbolQuality {
        match self.image(module) {
            Some(image) => image.quality(),
            None => SymbolQuality::Unknown,
        }
    }

    /// The function that covers an address, by the unwind information; in addresses of the process.
    pub fn function_covering(&mut self, trace: &Trace, address: u64) -> Option<FunctionRange> {
        let module = module_at(trace, address)?;
        let image = self.image(module)?;
        let sections = image.unwind_sections()?;
        let entry = sections.covering(address.wrapping_sub(module.bias))?;
        let range = entry.range();
        Some(FunctionRange {
            start: range.start.wrapping_add(module.bias),
            end: range.end.wrapping_add(module.bias),
        })
    }

    /// Where in its file the function begins that made a call, by its return address; stripped
    /// files tell it too. In the file's own addresses.
    pub fn function_offset(&mut self, trace: &Trace, return_address: u64) -> Option<u64> {
        // The call can be the last instruction of the function.
        let address = return_address.checked_sub(1)?;
        let bias = module_at(trace, address)?.bias;
        let range = self.function_covering(trace, address)?;
        Some(range.start.wrapping_sub(bias))
    }

    /// Which function called through a slot of `module`, given where the call returns to.
    ///
    /// A jump leaves no return address of its own: the one that the callee sees lies in a caller
    /// of the function that jumped, perhaps in another module. The code of `module` tells which
    /// functions can have jumped.
    pub fn call_site(
        &mut self,
        trace: &Trace,
        module: &Module,
        slot: &Slot,
        return_address: u64,
    ) -> CallSite {
        let Some(image) = self.image(module) else {
            return CallSite::Unknown;
        };
        let caller = module_at(trace, return_address.wrapping_sub(1));
        let is_inside = caller.is_some_and(|caller| caller.id == module.id);
        let slots = module.slots.iter().chain(std::iter::once(slot));
        let question = Question {
            slot: slot.address.wrapping_sub(module.bias),
            slots: slots.map(|slot| slot.address.wrapping_sub(module.bias)),
            return_address: is_inside.then(|| return_address.wrapping_sub(module.bias)),
        };
        call_site::call_site(&image, question)
    }

    /// What part of the exit of a process or thread ran the code on a stack; `None` where none
    /// did, or the C library is not the GNU one.
    ///
    /// `addresses` are return addresses, innermost first, as [`Symbolizer::unwind`] gives them.
    pub fn exit_stage(&mut self, trace: &Trace, addresses: &[u64]) -> Option<ExitStage> {
        let located = addresses.iter().map(|address| {
            let module = module_at(trace, address.wrapping_sub(1))?;
            Some((self.image(module)?, address.wrapping_sub(module.bias)))
        });
        let located: Vec<Option<(Rc<Image>, u64)>> = located.collect();
        let callers: Vec<Option<Caller<'_>>> = located
            .iter()
            .map(|located| {
                let (image, address) = located.as_ref()?;
                Some(Caller {
                    image,
                    address: *address,
                })
            })
            .collect();
        exit_stage::exit_stage(&callers)
    }

    /// Why some modules' addresses have no names; each module once.
    pub fn warnings(&self) -> &[SymbolWarning] {
        &self.warnings
    }

    fn image(&mut self, module: &Module) -> Option<Rc<Image>> {
        let key = (module.path.clone(), module.build_id.clone());
        if let Some(known) = self.images.get(&key) {
            return known.clone();
        }
        let image = match self.open(module) {
            Ok(image) => image.map(Rc::new),
            Err(warning) => {
                self.warnings.push(warning);
                None
            }
        };
        self.images.insert(key, image.clone());
        image
    }

    fn open(&self, module: &Module) -> Result<Option<Image>, SymbolWarning> {
        if module.path.is_empty() || module.path == VDSO || module.path.starts_with('[') {
            return Ok(None);
        }
        let path = Path::new(&module.path);
        let image = Image::open(path, &self.debug_directories).map_err(|error| {
            SymbolWarning::Unreadable {
                path: path.to_owned(),
                reason: error.to_string(),
            }
        })?;
        let found = &image.binary.build_id;
        let is_same = module.build_id.is_empty() || found.is_empty() || *found == module.build_id;
        if !is_same {
            return Err(SymbolWarning::Replaced {
                path: path.to_owned(),
                expected: hexadecimal(&module.build_id),
                found: hexadecimal(found),
            });
        }
        Ok(Some(image))
    }
}

/// The module at an address. Mappings of one module can lie in a gap of another: the smaller it is.
fn module_at(trace: &Trace, address: u64) -> Option<&Module> {
    let modules = trace.modules.iter();
    let at = modules.filter(|module| (module.start..module.end).contains(&address));
    at.min_by_key(|module| module.end - module.start)
}

fn base_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}
