//! Names from the watched program, made fit for a terminal.
//!
//! A function or file name may hold anything: an escape sequence that recolours the terminal, a
//! newline that forges a finding, a direction mark that turns a line round, ten kilobytes of
//! template arguments.

use std::borrow::Cow;
use std::fmt::Write;

/// `text` with every character that a terminal acts upon written as an escape.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    if !text.contains(acts) {
        return Cow::Borrowed(text);
    }
    let mut cleaned = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        match character {
            '\n' => cleaned.push_str("\\n"),
            '\r' => cleaned.push_str("\\r"),
            '\t' => cleaned.push_str("\\t"),
            _ if acts(character) => {
                let _ = write!(cleaned, "\\u{{{:x}}}", u32::from(character));
            }
            _ => cleaned.push(character),
        }
    }
    Cow::Owned(cleaned)
}

/// Control characters of both sets, line separators, and marks that change the text's direction.
fn acts(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// A demangled name of at most `limit` characters: without template arguments if it is longer,
/// and cut in the middle if even that does not help.
pub(crate) fn name(text: &str, limit: usize) -> String {
    let text = clean(text);
    if text.chars().count() <= limit {
        return text.into_owned();
    }
    middle(&without_arguments(&text), limit)
}

/// `text` with its middle left out if it is longer than `limit` characters.
fn middle(text: &str, limit: usize) -> String {
    let length = text.chars().count();
    if length <= limit {
        return text.to_owned();
    }
    let tail = limit / 3;
    let head = limit.saturating_sub(tail + 1);
    text.chars()
        .take(head)
        .chain(['…'])
        .chain(text.chars().skip(length - tail))
        .collect()
}

/// `a<b<c>>::d(e<f>)` becomes `a<…>::d(e<…>)`. A name whose brackets are not pairs stays as it is.
fn without_arguments(text: &str) -> Cow<'_, str> {
    if text.contains("operator<") || text.contains("operator>") || text.contains("operator-") {
        return Cow::Borrowed(text);
    }
    let mut kept = String::new();
    let mut depth = 0usize;
    let mut previous = ' ';
    for character in text.chars() {
        match character {
            '<' => {
                if depth == 0 {
                    kept.push_str("<…");
                }
                depth += 1;
            }
            '>' if previous != '-' => match depth.checked_sub(1) {
                Some(outer) => {
                    depth = outer;
                    if depth == 0 {
                        kept.push('>');
                    }
                }
                None => return Cow::Borrowed(text),
            },
            _ if depth == 0 => kept.push(character),
            _ => {}
        }
        previous = character;
    }
    if depth == 0 {
        Cow::Owned(kept)
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_acts_upon_is_left() {
        let hostile = "a\u{1b}[31mb\nc\rd\te\u{9b}2Jf\u{202e}g\u{7}h\u{2028}i\u{0}";
        let cleaned = clean(hostile);
        assert!(!cleaned.contains(acts), "{cleaned:?}");
        assert_eq!(
            cleaned,
            "a\\u{1b}[31mb\\nc\\rd\\te\\u{9b}2Jf\\u{202e}g\\u{7}h\\u{2028}i\\u{0}"
        );
    }

    #[test]
    fn other_scripts_stay() {
        assert_eq!(clean("größe::пример→函数"), "größe::пример→函数");
    }

    #[test]
    fn long_names_lose_their_template_arguments_first() {
        let long = "std::vector<std::pair<int, long>>::push_back(std::pair<int, long> const&)";
        assert_eq!(
            name(long, 60),
            "std::vector<…>::push_back(std::pair<…> const&)"
        );
        assert_eq!(name(long, 100), long);
        assert_eq!(name(&"x".repeat(50), 9), "xxxxx…xxx");
        assert_eq!(name(long, 9).chars().count(), 9);
    }

    #[test]
    fn operators_are_not_taken_for_brackets() {
        let shift = "std::operator<< <std::char_traits<char>>(std::ostream&, char const*)";
        assert!(name(shift, 40).starts_with("std::operator<<"));
        assert_eq!(without_arguments("f()->g<int>"), "f()->g<…>");
        assert_eq!(without_arguments("a<b"), "a<b");
        assert_eq!(without_arguments("a>b"), "a>b");
    }
}
