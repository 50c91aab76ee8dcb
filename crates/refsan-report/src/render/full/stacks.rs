//! Stacks, innermost frame first, the place before the function.

use std::io;

use refsan_model::{Frame, Stack};

use super::Page;
use crate::Stacks;
use crate::clean::{clean, name};
use crate::number::plural;
use crate::paint::Ink;
use crate::prune::{Line, prune};

/// Places wider than this do not move the functions of the other frames.
const PLACE: usize = 44;

impl Page<'_> {
    /// A title and the frames under it.
    pub(super) fn stack(&mut self, mark: &str, stack: &Stack) -> io::Result<()> {
        if self.options.stacks == Stacks::Off {
            return Ok(());
        }
        writeln!(self.out, "  {mark}{}", clean(&stack.title))?;
        let lines = prune(stack, self.options.stacks);
        let width = lines
            .iter()
            .filter_map(|line| match line {
                Line::Frame(frame) => Some(place(frame).chars().count()),
                Line::Omitted { .. } => None,
            })
            .filter(|width| *width <= PLACE)
            .max()
            .unwrap_or(0);
        for line in &lines {
            match line {
                Line::Frame(frame) => self.frame(frame, width)?,
                Line::Omitted { count, modules } => self.omitted(*count, modules)?,
            }
        }
        if stack.truncated {
            let text = self
                .paint
                .of(Ink::Faint, "… further frames were not recorded");
            writeln!(self.out, "      {text}")?;
        }
        Ok(())
    }

    fn frame(&mut self, frame: &Frame, width: usize) -> io::Result<()> {
        let place = place(frame);
        let padding = width.saturating_sub(place.chars().count());
        let mut function = match (&frame.function, self.options.stacks) {
            (None, _) => "??".to_owned(),
            (Some(function), Stacks::Full) => clean(function).into_owned(),
            (Some(function), _) => name(
                function,
                self.options.width.saturating_sub(width + 8).max(40),
            ),
        };
        if frame.watched {
            function = self.paint.of(Ink::Strong, &function);
        }
        if frame.inlined {
            function += " (inlined)";
        }
        let place = self.paint.of(Ink::Place, &place);
        writeln!(self.out, "      {place}{:padding$}  {function}", "")
    }

    fn omitted(&mut self, count: usize, modules: &[&str]) -> io::Result<()> {
        self.omitted += count;
        let frames = plural(count as u64, "frame");
        let text = match modules {
            [] => format!("… {frames}"),
            [one] => format!("… {frames} in {}", clean(one)),
            [one, two] => format!("… {frames} in {} and {}", clean(one), clean(two)),
            [one, rest @ ..] => {
                format!("… {frames} in {} and {} others", clean(one), rest.len())
            }
        };
        writeln!(self.out, "      {}", self.paint.of(Ink::Faint, &text))
    }

    /// What the other threads were running: one line each, or all of it.
    pub(super) fn other_threads(&mut self, stacks: &[&Stack], limit: usize) -> io::Result<()> {
        match self.options.stacks {
            Stacks::Off => return Ok(()),
            Stacks::Full => {
                for stack in stacks {
                    self.stack("", stack)?;
                }
                return Ok(());
            }
            Stacks::Short => {}
        }
        for stack in stacks.iter().take(limit) {
            let frames: Vec<_> = stack.frames.iter().filter(|frame| !frame.own).collect();
            let place = match frames.first() {
                Some(frame) => {
                    let function = frame.function.as_deref().map(|text| name(text, 60));
                    format!("{} {}", place(frame), function.unwrap_or_default())
                }
                None => "no frame".to_owned(),
            };
            self.omitted += frames.len().saturating_sub(1);
            self.fact(
                "beside",
                &format!("{}: {}", clean(&stack.title), place.trim_end()),
            )?;
        }
        if let Some(more) = stacks.len().checked_sub(limit).filter(|more| *more > 0) {
            let hidden = stacks[limit..].iter().map(|stack| stack.frames.len());
            self.omitted += hidden.sum::<usize>();
            self.fact("", &format!("… and {}", plural(more as u64, "more thread")))?;
        }
        Ok(())
    }
}

/// `file:line` where it is known, else `module+0xoffset`.
fn place(frame: &Frame) -> String {
    match (&frame.file, frame.line, &frame.module, frame.offset) {
        (Some(file), Some(line @ 1..), _, _) => format!("{}:{line}", clean(file)),
        (Some(file), _, _, _) => clean(file).into_owned(),
        (None, _, Some(module), Some(offset)) => format!("{}+{offset:#x}", clean(module)),
        (None, _, Some(module), None) => clean(module).into_owned(),
        (None, _, None, Some(offset)) => format!("{offset:#x}"),
        (None, _, None, None) => "unknown place".to_owned(),
    }
}
