//! What a reader can choose about the text formats.

use std::str::FromStr;

/// How much of the stacks is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stacks {
    /// The frames of the watched modules and their neighbours.
    #[default]
    Short,
    /// Every frame.
    Full,
    /// None.
    Off,
}

/// A name that no choice of stacks has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stacks cannot be shown as `{0}`; the choices are short, full, off")]
pub struct UnknownStacks(pub String);

impl FromStr for Stacks {
    type Err = UnknownStacks;

    fn from_str(text: &str) -> Result<Self, UnknownStacks> {
        match text {
            "short" => Ok(Stacks::Short),
            "full" => Ok(Stacks::Full),
            "off" => Ok(Stacks::Off),
            _ => Err(UnknownStacks(text.to_owned())),
        }
    }
}

/// Choices for the text formats; the machine formats are always complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Write ANSI colours.
    pub color: bool,
    /// How much of the stacks is shown.
    pub stacks: Stacks,
    /// Show the stacks of machine code, not those of Python only.
    pub native: bool,
    /// Show at most so many findings; the summary counts all of them.
    pub max_findings: Option<usize>,
    /// Show findings with the same fingerprint once, with the sum of their counts.
    pub dedup: bool,
    /// The width for sentences, in columns. Names and paths may be longer.
    pub width: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            color: false,
            stacks: Stacks::Short,
            native: true,
            max_findings: None,
            dedup: true,
            width: 100,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_have_names() {
        assert_eq!("full".parse(), Ok(Stacks::Full));
        let error = "long".parse::<Stacks>().unwrap_err().to_string();
        assert!(
            error.contains("long") && error.contains("short, full, off"),
            "{error}"
        );
    }
}
