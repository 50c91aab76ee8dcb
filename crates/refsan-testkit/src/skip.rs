//! A skipped test must be seen: it is printed with its reason, in one recognisable line.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Write};
use std::sync::Mutex;

/// Something that this machine cannot provide, and why.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Skip {
    /// What is missing, for instance `CPython 3.15`.
    pub what: String,
    /// Why, and what would make it run.
    pub reason: String,
}

impl Skip {
    /// A skip of `what` because of `reason`.
    pub fn new(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            reason: reason.into(),
        }
    }

    /// Prints this skip on standard error, once a process.
    pub fn print(&self) {
        static PRINTED: Mutex<BTreeSet<Skip>> = Mutex::new(BTreeSet::new());
        let mut printed = PRINTED
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if printed.insert(self.clone()) {
            // Nothing is left to tell, should standard error be closed.
            let _ = self.write_to(&mut io::stderr().lock());
        }
    }

    /// Writes the line that [`Skip::print`] prints.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_to(&self, writer: &mut impl Write) -> io::Result<()> {
        writeln!(writer, "{self}")
    }
}

impl fmt::Display for Skip {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // One line, whatever a tool had to say.
        let reason = self.reason.split_whitespace().collect::<Vec<_>>().join(" ");
        write!(formatter, "skipped: {}: {reason}", self.what)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skip_is_one_line_with_its_reason() {
        let mut written = Vec::new();
        Skip::new("CPython 3.15", "not installed;\n  install it")
            .write_to(&mut written)
            .unwrap();
        assert_eq!(
            String::from_utf8(written).unwrap(),
            "skipped: CPython 3.15: not installed; install it\n"
        );
    }
}
