//! Colours, or none.

use anstyle::{AnsiColor, Style};
use refsan_model::Severity;

/// What a piece of text is.
#[derive(Clone, Copy)]
pub(crate) enum Ink {
    /// The severity and the code.
    Severity(Severity),
    /// What the eye shall find first.
    Strong,
    /// A place in the source.
    Place,
    /// What can be skipped.
    Faint,
    /// A label in front of a fact.
    Label,
}

/// Paints text, or leaves it as it is.
#[derive(Clone, Copy)]
pub(crate) struct Paint {
    pub(crate) color: bool,
}

impl Paint {
    /// `text`, painted. The text must be clean.
    pub(crate) fn of(self, ink: Ink, text: &str) -> String {
        if !self.color || text.is_empty() {
            return text.to_owned();
        }
        let style = match ink {
            Ink::Severity(Severity::Error) => AnsiColor::Red.on_default().bold(),
            Ink::Severity(Severity::Warning) => AnsiColor::Yellow.on_default().bold(),
            Ink::Severity(Severity::Note) => AnsiColor::Cyan.on_default().bold(),
            Ink::Strong => Style::new().bold(),
            Ink::Place => AnsiColor::Cyan.on_default(),
            Ink::Faint => Style::new().dimmed(),
            Ink::Label => AnsiColor::Blue.on_default().bold(),
        };
        format!("{style}{text}{style:#}")
    }
}

/// The word for a severity.
pub(crate) fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}
