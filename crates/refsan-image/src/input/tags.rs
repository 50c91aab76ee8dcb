//! For which Pythons a file was built, as its name says.

/// The tags in the name of an extension module and of the wheel around it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PythonTags {
    /// The tag in the module's file name: `cpython-312`, `cp312`, `abi3`.
    pub module: Option<String>,
    /// Python, ABI and platform tag of the wheel, each maybe several joined by dots.
    pub wheel: Option<[String; 3]>,
}

impl PythonTags {
    /// Reads them from the name of an entry.
    #[must_use]
    pub fn of(name: &str) -> Self {
        let file = name.rsplit(['/', '!']).next().unwrap_or(name);
        let module = file.split('.').find_map(module_tag);
        let wheel = name
            .split('!')
            .rev()
            .find_map(|part| part.rsplit('/').next()?.strip_suffix(".whl"))
            .and_then(|stem| {
                let mut tags = stem.rsplitn(4, '-').map(str::to_owned);
                let (platform, abi, python) = (tags.next()?, tags.next()?, tags.next()?);
                // Without a distribution before them these are no tags.
                tags.next().map(|_| [python, abi, platform])
            });
        Self { module, wheel }
    }
}

/// The tag of `cpython-312-x86_64-linux-gnu`, `cp312-win_amd64`, `abi3` and their like.
fn module_tag(part: &str) -> Option<String> {
    let mut fields = part.split('-');
    let first = fields.next()?;
    if matches!(first, "abi3" | "abi3t") {
        return Some(first.to_owned());
    }
    if matches!(first, "cpython" | "pypy" | "graalpy") {
        return Some(format!("{first}-{}", fields.next()?));
    }
    let version = first.strip_prefix("cp").or(first.strip_prefix("pp"))?;
    let is_tag = version.starts_with(|character: char| character.is_ascii_digit());
    (is_tag && fields.next().is_some()).then(|| first.to_owned())
}

#[cfg(test)]
mod tests {
    use super::PythonTags;

    fn tags(name: &str) -> (Option<String>, Option<String>) {
        let tags = PythonTags::of(name);
        (tags.module, tags.wheel.map(|wheel| wheel.join(" ")))
    }

    #[test]
    fn tags_come_from_both_names() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            tags("dist/a_b-1.0-cp311-abi3-win_amd64.whl!a_b/_core.cp312-win_amd64.pyd"),
            (some("cp312"), some("cp311 abi3 win_amd64"))
        );
        assert_eq!(
            tags("lib/_core.cpython-313t-x86_64-linux-gnu.so"),
            (some("cpython-313t"), None)
        );
        assert_eq!(tags("lib/_core.abi3.so"), (some("abi3"), None));
        assert_eq!(tags("lib/libcp.so.1"), (None, None));
        assert_eq!(tags("cp3.whl!cpp.so"), (None, None));
    }
}
