//! The formats by name.

use std::fmt;
use std::str::FromStr;

/// An output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Everything a person needs: stacks, summary, coverage.
    Full,
    /// One line a finding, and a summary line.
    Concise,
    /// The whole report as one JSON document.
    Json,
    /// One JSON object a line: the findings, then the coverage.
    Jsonl,
}

/// A name that no format has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no output format is called `{0}`; the formats are {names}", names = names())]
pub struct UnknownFormat(pub String);

fn names() -> String {
    Format::ALL.map(Format::name).join(", ")
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 4] = [Format::Full, Format::Concise, Format::Json, Format::Jsonl];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::Full => "full",
            Format::Concise => "concise",
            Format::Json => "json",
            Format::Jsonl => "jsonl",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        Format::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| UnknownFormat(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_their_format() {
        for format in Format::ALL {
            assert_eq!(format.to_string().parse(), Ok(format));
        }
    }

    #[test]
    fn an_unknown_name_gets_the_list() {
        let error = "sarif".parse::<Format>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "no output format is called `sarif`; the formats are full, concise, json, jsonl"
        );
    }
}
