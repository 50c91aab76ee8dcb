//! The identity of a rule: a code that never changes its meaning and a name that reads after "allow".

use serde::{Deserialize, Serialize};

/// A rule of refsan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RuleId {
    /// An object is released on a thread with no attached thread state.
    #[serde(rename = "RS101")]
    ReleaseWithoutThreadState,
    /// A C-API function is called on a thread with no attached thread state.
    #[serde(rename = "RS102")]
    CallWithoutThreadState,
    /// An object is released after the interpreter was finalized.
    #[serde(rename = "RS201")]
    ReleaseAfterFinalization,
    /// A C-API function is called after the interpreter was finalized.
    #[serde(rename = "RS202")]
    CallAfterFinalization,
    /// A thread asks for a thread state while or after the interpreter is finalized.
    #[serde(rename = "RS203")]
    AttachDuringFinalization,
}

/// A code or name that no rule has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRule(pub String);

impl std::fmt::Display for UnknownRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "no rule has the code or name `{}`; the rules are ",
            self.0
        )?;
        for (index, rule) in RuleId::ALL.iter().enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            write!(f, "{separator}{rule}")?;
        }
        Ok(())
    }
}

impl std::error::Error for UnknownRule {}

impl RuleId {
    /// Every rule, in the order of the codes.
    pub const ALL: [RuleId; 5] = [
        RuleId::ReleaseWithoutThreadState,
        RuleId::CallWithoutThreadState,
        RuleId::ReleaseAfterFinalization,
        RuleId::CallAfterFinalization,
        RuleId::AttachDuringFinalization,
    ];

    /// The stable code, for example `RS101`.
    pub fn code(self) -> &'static str {
        match self {
            RuleId::ReleaseWithoutThreadState => "RS101",
            RuleId::CallWithoutThreadState => "RS102",
            RuleId::ReleaseAfterFinalization => "RS201",
            RuleId::CallAfterFinalization => "RS202",
            RuleId::AttachDuringFinalization => "RS203",
        }
    }

    /// The stable name, for example `release-without-thread-state`.
    pub fn name(self) -> &'static str {
        match self {
            RuleId::ReleaseWithoutThreadState => "release-without-thread-state",
            RuleId::CallWithoutThreadState => "call-without-thread-state",
            RuleId::ReleaseAfterFinalization => "release-after-finalization",
            RuleId::CallAfterFinalization => "call-after-finalization",
            RuleId::AttachDuringFinalization => "attach-during-finalization",
        }
    }
}

impl std::fmt::Display for RuleId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.code())
    }
}

impl std::str::FromStr for RuleId {
    type Err = UnknownRule;

    /// Accepts the code in any case, or the name.
    fn from_str(text: &str) -> Result<Self, UnknownRule> {
        RuleId::ALL
            .into_iter()
            .find(|rule| rule.code().eq_ignore_ascii_case(text) || rule.name() == text)
            .ok_or_else(|| UnknownRule(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_lead_back_to_their_rule() {
        for rule in RuleId::ALL {
            assert_eq!(rule.code().parse(), Ok(rule));
            assert_eq!(rule.code().to_lowercase().parse(), Ok(rule));
            assert_eq!(rule.name().parse(), Ok(rule));
        }
        let error = "RS999".parse::<RuleId>().unwrap_err().to_string();
        assert!(
            error.contains("RS999") && error.contains("RS203"),
            "{error}"
        );
    }
}
