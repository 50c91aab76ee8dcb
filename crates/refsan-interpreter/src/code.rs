//! Code objects: what a frame executes.

use crate::bytes::Bytes;
use crate::frame::Frame;
use crate::layout::Layout;
use crate::lines;
use crate::memory::{Memory, Window, aligned, read_u64};
use crate::object::is_type_named;
use crate::string::Characters;
use crate::text::Text;

/// Bytes kept of a file name.
const FILENAME: usize = 512;
/// Bytes kept of a function's name.
const FUNCTION: usize = 256;
/// One past the greatest number of copies of one code object: one a thread.
const COPIES: u64 = 1 << 20;
/// One past the greatest offset of an instruction, in bytes.
const LONGEST: i64 = 1 << 26;

/// A code object, copied.
pub(crate) struct Code {
    address: u64,
    window: Window<256>,
}

/// Recognizes code objects. Remembers their type, which is one for all interpreters of a process.
pub(crate) struct CodeType {
    address: u64,
}

impl CodeType {
    pub(crate) const fn unknown() -> Self {
        Self { address: 0 }
    }

    /// The code object at `address`; None when there is something else.
    pub(crate) fn read<M: Memory + ?Sized>(
        &mut self,
        memory: &M,
        layout: &Layout,
        address: u64,
    ) -> Option<Code> {
        let fields = &layout.code;
        let mut extent = fields.lines.max(fields.function).max(fields.filename);
        if let Some(body) = fields.body {
            extent = extent
                .max(body.first_traceable)
                .max(body.copies.unwrap_or(0));
        }
        let window = Window::read(memory, address, extent.checked_add(8)?)?;
        let kind = window.u64(layout.objects.ob_type)?;
        if kind != self.address {
            if !is_type_named(memory, &layout.objects, kind, "code") {
                return None;
            }
            self.address = kind;
        }
        Some(Code { address, window })
    }
}

impl Code {
    /// Where the instructions of a frame start that executes the copy `index`.
    pub(crate) fn instructions<M: Memory + ?Sized>(
        &self,
        memory: &M,
        layout: &Layout,
        index: Option<u32>,
    ) -> Option<u64> {
        let body = layout.code.body?;
        if let (Some(copies), Some(index)) = (body.copies, index) {
            let copies = aligned(self.window.u64(copies)?)?;
            let count = read_u64(memory, copies).filter(|count| *count < COPIES)?;
            let index = Some(u64::from(index)).filter(|index| *index < count)?;
            return read_u64(
                memory,
                copies.checked_add(index.checked_mul(8)?)?.checked_add(8)?,
            );
        }
        self.address.checked_add(body.instructions)
    }

    /// Byte offset of the first instruction that belongs to the source; before it, a frame is being
    /// set up.
    pub(crate) fn first_traceable(&self, layout: &Layout) -> Option<i64> {
        let index = self.window.i32(layout.code.body?.first_traceable)?;
        i64::from(index).checked_mul(2)
    }

    /// Hands what is known of this code at byte `offset` to `visit`.
    pub(crate) fn describe<M: Memory + ?Sized>(
        &self,
        memory: &M,
        layout: &Layout,
        offset: Option<i64>,
        visit: &mut dyn FnMut(&Frame<'_>),
    ) {
        let filename = self.text::<FILENAME, M>(memory, layout, layout.code.filename);
        let function = self.text::<FUNCTION, M>(memory, layout, layout.code.function);
        visit(&Frame {
            filename: filename.as_str(),
            function: function.as_str(),
            line: offset
                .and_then(|offset| self.line(memory, layout, offset))
                .unwrap_or(0),
        });
    }

    fn line<M: Memory + ?Sized>(&self, memory: &M, layout: &Layout, offset: i64) -> Option<u32> {
        if offset >= LONGEST {
            return None;
        }
        let first = self.window.i32(layout.code.first_line)?;
        let table = Bytes::of(memory, &layout.objects, self.window.u64(layout.code.lines)?)?;
        lines::line(layout.code.format, table, first, offset)
    }

    /// Empty when it cannot be read.
    fn text<const N: usize, M: Memory + ?Sized>(
        &self,
        memory: &M,
        layout: &Layout,
        field: u64,
    ) -> Text<N> {
        let mut text = Text::new();
        let written = self
            .window
            .u64(field)
            .and_then(|address| Characters::of(memory, &layout.objects, address))
            .and_then(|characters| characters.write(memory, &mut text));
        if written.is_some() { text } else { Text::new() }
    }
}
