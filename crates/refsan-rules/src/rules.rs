//! The registry.

use refsan_model::RuleId;

use crate::rule::{Interpreter, Rule, Situation};

mod rs101_release_without_thread_state;
mod rs102_call_without_thread_state;
mod rs201_release_after_finalization;
mod rs202_call_after_finalization;
mod rs203_attach_during_finalization;

/// Every rule, in the order of the codes.
pub const RULES: &[&Rule] = &[
    &rs101_release_without_thread_state::RULE,
    &rs102_call_without_thread_state::RULE,
    &rs201_release_after_finalization::RULE,
    &rs202_call_after_finalization::RULE,
    &rs203_attach_during_finalization::RULE,
];

/// The rule with this identity.
pub fn rule(id: RuleId) -> &'static Rule {
    match id {
        RuleId::ReleaseWithoutThreadState => &rs101_release_without_thread_state::RULE,
        RuleId::CallWithoutThreadState => &rs102_call_without_thread_state::RULE,
        RuleId::ReleaseAfterFinalization => &rs201_release_after_finalization::RULE,
        RuleId::CallAfterFinalization => &rs202_call_after_finalization::RULE,
        RuleId::AttachDuringFinalization => &rs203_attach_during_finalization::RULE,
    }
}

/// What this version of CPython does when the rule is broken, whatever the situation; see
/// [`Rule::consequence`] for an answer that knows the phase and the thread.
pub fn consequence(
    id: RuleId,
    python_version: (u8, u8, u8),
    free_threaded: bool,
) -> Option<&'static str> {
    let interpreter = Interpreter {
        version: python_version,
        free_threaded,
    };
    rule(id).consequence(interpreter, Situation::default())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use refsan_model::{Phase, ThreadState};

    use super::*;

    #[test]
    fn the_registry_holds_every_rule_once_and_in_order() {
        let ids: Vec<RuleId> = RULES.iter().map(|rule| rule.id).collect();
        assert_eq!(ids, RuleId::ALL);
        for id in RuleId::ALL {
            assert_eq!(rule(id).id, id);
            assert!(id.code().starts_with(rule(id).group.prefix()));
        }
    }

    #[test]
    fn short_texts_fit_into_a_report() {
        for rule in RULES {
            for text in [rule.summary, rule.cure] {
                assert!(
                    text.len() <= 150 && !text.contains('\n'),
                    "{}: {text}",
                    rule.id
                );
                assert!(!text.ends_with('.'), "{}: {text}", rule.id);
            }
        }
    }

    #[test]
    fn every_version_and_situation_has_a_consequence() {
        let phases = [
            None,
            Some(Phase::Running),
            Some(Phase::Finalizing),
            Some(Phase::Finalized),
        ];
        let states = [
            None,
            Some(ThreadState::None),
            Some(ThreadState::Detached),
            Some(ThreadState::Gone),
        ];
        for rule in RULES {
            for minor in 8..=15 {
                for free_threaded in [false, true] {
                    for phase in phases {
                        for state in states {
                            let interpreter = Interpreter {
                                version: (3, minor, 9),
                                free_threaded,
                            };
                            let text = rule
                                .consequence(
                                    interpreter,
                                    Situation {
                                        phase,
                                        state,
                                        call: None,
                                    },
                                )
                                .unwrap_or_default();
                            assert!(!text.is_empty() && !text.contains('\n'), "{}", rule.id);
                            assert!(text.len() <= 200, "{}: {text}", rule.id);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_version_that_nobody_observed_has_none() {
        for version in [(0, 0, 0), (2, 7, 18), (3, 7, 16), (3, 16, 0), (4, 10, 0)] {
            assert_eq!(
                consequence(RuleId::AttachDuringFinalization, version, false),
                None
            );
        }
    }

    #[test]
    fn the_version_decides() {
        for rule in RULES {
            let texts: HashSet<_> = (8..=15)
                .map(|minor| consequence(rule.id, (3, minor, 0), false))
                .collect();
            assert!(texts.len() > 1, "{}: {texts:?}", rule.id);
        }
    }
}
