//! Shortens a stack to what a maintainer can act upon.
//!
//! Frames of the interpreter and the C library are left out only if a frame of a watched module
//! remains, and the number of those left out is kept: the report says how to see them.

use refsan_model::{Frame, Report, Stack, StackKind};

use crate::Stacks;

/// Frames shown at the start of a long run of watched frames, or of a Python stack.
const HEAD: usize = 4;

/// A line of a stack.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// A frame.
    Frame(&'a Frame),
    /// Frames that were left out, and the binaries that they lie in.
    Omitted { count: usize, modules: Vec<&'a str> },
}

/// The lines to show; refsan's own frames are never among them.
pub(crate) fn prune(stack: &Stack, stacks: Stacks) -> Vec<Line<'_>> {
    let frames: Vec<&Frame> = stack.frames.iter().filter(|frame| !frame.own).collect();
    let keep = match stacks {
        Stacks::Off => return Vec::new(),
        Stacks::Full => vec![true; frames.len()],
        Stacks::Short => match stack.kind {
            StackKind::Python => (0..frames.len()).map(|index| index < HEAD).collect(),
            StackKind::Native => telling(&frames),
        },
    };
    lines(&frames, &keep)
}

/// The report for machines: whole, but for refsan's own frames, which the format cannot mark.
pub(crate) fn without_own_frames(report: &Report) -> Report {
    let mut report = report.clone();
    for stack in report
        .findings
        .iter_mut()
        .flat_map(|finding| &mut finding.stacks)
    {
        stack.frames.retain(|frame| !frame.own);
    }
    report
}

/// Marks the watched frames (the ends of a long run of them) and their neighbours.
fn telling(frames: &[&Frame]) -> Vec<bool> {
    let watched = |index: usize| frames.get(index).is_some_and(|frame| frame.watched);
    if !frames.iter().any(|frame| frame.watched) {
        return vec![true; frames.len()];
    }
    let mut keep = vec![false; frames.len()];
    let mut start = 0;
    while start < frames.len() {
        if !watched(start) {
            // The neighbours of a watched frame: what it called, and who called it.
            keep[start] = watched(start + 1) || (start > 0 && watched(start - 1));
            start += 1;
            continue;
        }
        let end = (start..frames.len())
            .find(|index| !watched(*index))
            .unwrap_or(frames.len());
        for (place, kept) in keep[start..end].iter_mut().enumerate() {
            *kept = place < HEAD || start + place + 1 == end;
        }
        start = end;
    }
    keep
}

/// Puts frames and gaps in order. A gap of one frame would save no line: the frame is shown.
fn lines<'a>(frames: &[&'a Frame], keep: &[bool]) -> Vec<Line<'a>> {
    let mut lines = Vec::new();
    let mut index = 0;
    while index < frames.len() {
        let gap = keep[index..].iter().take_while(|kept| !**kept).count();
        if gap < 2 {
            lines.push(Line::Frame(frames[index]));
            index += 1;
            continue;
        }
        let mut modules: Vec<&str> = Vec::new();
        for module in frames[index..index + gap]
            .iter()
            .filter_map(|frame| frame.module.as_deref())
        {
            if !modules.contains(&module) {
                modules.push(module);
            }
        }
        lines.push(Line::Omitted {
            count: gap,
            modules,
        });
        index += gap;
    }
    lines
}

#[cfg(test)]
mod tests {
    use refsan_model::StackRole;

    use super::*;

    /// `w` a watched frame, `i` one of the interpreter, `c` one of the C library, `o` our own.
    fn stack(letters: &str) -> Stack {
        let frames = letters.chars().map(|letter| Frame {
            module: Some(
                match letter {
                    'w' => "_core.so",
                    'i' => "libpython3.11.so.1.0",
                    'c' => "libc.so.6",
                    _ => "librefsan.so",
                }
                .to_owned(),
            ),
            watched: letter == 'w',
            own: letter == 'o',
            ..Frame::default()
        });
        Stack {
            role: StackRole::Released,
            kind: StackKind::Native,
            title: String::new(),
            tid: None,
            frames: frames.collect(),
            truncated: false,
        }
    }

    /// Letters for frames, numbers for gaps.
    fn picture(letters: &str, stacks: Stacks) -> String {
        prune(&stack(letters), stacks)
            .iter()
            .map(|line| match line {
                Line::Frame(frame) if frame.watched => "w".to_owned(),
                Line::Frame(_) => "-".to_owned(),
                Line::Omitted { count, .. } => count.to_string(),
            })
            .collect()
    }

    #[test]
    fn watched_frames_and_their_neighbours_stay() {
        assert_eq!(picture("iiiiwwiiiii", Stacks::Short), "3-ww-4");
        assert_eq!(picture("iwiwi", Stacks::Short), "-w-w-");
    }

    #[test]
    fn a_gap_of_one_frame_is_shown() {
        assert_eq!(picture("iiwii", Stacks::Short), "--w--");
    }

    #[test]
    fn without_a_watched_frame_nothing_is_left_out() {
        assert_eq!(picture("iiiiicc", Stacks::Short), "-------");
    }

    #[test]
    fn own_frames_never_show() {
        assert_eq!(picture("oowio", Stacks::Full), "w-");
        assert_eq!(picture("ooo", Stacks::Short), "");
    }

    #[test]
    fn a_long_run_of_watched_frames_keeps_its_ends() {
        assert_eq!(picture("wwwwwwwwwwi", Stacks::Short), "wwww5w-");
    }

    #[test]
    fn full_shows_all_and_off_nothing() {
        assert_eq!(picture("iiiiwiiii", Stacks::Full), "----w----");
        assert_eq!(picture("iiiiwiiii", Stacks::Off), "");
    }

    #[test]
    fn a_gap_names_its_binaries_once() {
        let stack = stack("wiiicii");
        let lines = prune(&stack, Stacks::Short);
        assert_eq!(
            lines.last(),
            Some(&Line::Omitted {
                count: 5,
                modules: vec!["libpython3.11.so.1.0", "libc.so.6"]
            })
        );
    }
}
