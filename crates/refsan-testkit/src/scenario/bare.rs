//! What a scenario claims that its program does by itself, and whether it did.

use crate::bounded::{Ending, Outcome};
use serde::Deserialize;
use serde::de::{self, Deserializer};

/// What the program does by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crashes {
    /// A signal ends it.
    Always,
    /// It exits with status 0.
    Never,
    /// Either, by version or by chance.
    Varies,
}

/// The behaviour without refsan.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bare {
    /// Whether it crashes.
    pub crashes: Crashes,
    /// Exactly how it ends, when that is neither 0 nor a crash by chance: its exit status, or
    /// -n for signal n.
    pub status: Option<i32>,
    /// Details in words.
    #[serde(default)]
    pub note: String,
}

impl Bare {
    /// Checks that the program did by itself what the scenario claims.
    ///
    /// # Errors
    /// What was claimed and what was seen.
    pub fn judge(&self, bare: &Outcome) -> Result<(), String> {
        if let Some(status) = self.status {
            let found = match bare.ending {
                Ending::Exited(status) => Some(status),
                Ending::Signalled(signal) => Some(-signal),
                Ending::TimedOut => None,
            };
            if found == Some(status) {
                return Ok(());
            }
            return Err(format!(
                "by itself: expected status {status}, found {}",
                bare.ending
            ));
        }
        let crashed = matches!(bare.ending, Ending::Signalled(_));
        let (as_claimed, claim) = match self.crashes {
            Crashes::Always => (crashed, "a signal"),
            Crashes::Never => (bare.succeeded(), "exit status 0"),
            Crashes::Varies => (crashed || bare.succeeded(), "a signal or exit status 0"),
        };
        if as_claimed {
            return Ok(());
        }
        Err(format!(
            "by itself: expected {claim}, found {}",
            bare.ending
        ))
    }
}

impl<'de> Deserialize<'de> for Crashes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Flag(bool),
            Word(String),
        }
        match Written::deserialize(deserializer) {
            Ok(Written::Flag(true)) => Ok(Self::Always),
            Ok(Written::Flag(false)) => Ok(Self::Never),
            Ok(Written::Word(word)) if word == "varies" => Ok(Self::Varies),
            _ => Err(de::Error::custom("expected true, false or \"varies\"")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_does_by_itself_is_judged_by_its_claim() {
        let judge = |claim: &str, ending| {
            let outcome = Outcome {
                ending,
                stdout: String::new(),
                stderr: String::new(),
                elapsed: Default::default(),
            };
            toml::from_str::<Bare>(&format!("crashes = {claim}"))
                .unwrap()
                .judge(&outcome)
        };
        assert!(judge("true", Ending::Signalled(6)).is_ok());
        assert!(
            judge("true", Ending::Exited(0))
                .unwrap_err()
                .contains("expected a signal")
        );
        assert!(judge("false", Ending::Exited(0)).is_ok());
        assert!(judge("false", Ending::Exited(1)).is_err());
        assert!(judge("\"varies\"", Ending::Signalled(11)).is_ok());
        assert!(judge("\"varies\"", Ending::TimedOut).is_err());
        assert!(judge("false\nstatus = 7", Ending::Exited(7)).is_ok());
        assert!(judge("true\nstatus = -9", Ending::Signalled(9)).is_ok());
        assert!(judge("true\nstatus = -9", Ending::Signalled(11)).is_err());
    }
}
