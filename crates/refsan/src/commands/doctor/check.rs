//! One line of what the doctor says.

use std::fmt;

/// How it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// As it should be.
    Ok,
    /// It works, with something to know.
    Warning,
    /// It does not work.
    Problem,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// How it stands.
    pub state: State,
    /// What was seen.
    pub text: String,
    /// What to do; empty when there is nothing.
    pub advice: String,
}

impl Check {
    /// All is well.
    pub fn ok(text: impl Into<String>) -> Check {
        Check {
            state: State::Ok,
            text: text.into(),
            advice: String::new(),
        }
    }

    /// It works, with something to know.
    pub fn warning(text: impl Into<String>, advice: impl Into<String>) -> Check {
        Check {
            state: State::Warning,
            text: text.into(),
            advice: advice.into(),
        }
    }

    /// It does not work.
    pub fn problem(text: impl Into<String>, advice: impl Into<String>) -> Check {
        Check {
            state: State::Problem,
            ..Check::warning(text, advice)
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Ok => "ok",
            State::Warning => "warning",
            State::Problem => "problem",
        };
        write!(f, "  {state:8} {}", self.text)?;
        if !self.advice.is_empty() {
            write!(f, "\n             {}", self.advice)?;
        }
        Ok(())
    }
}
