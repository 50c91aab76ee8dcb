//! What a binary is called when version, build and machine are left out.

/// `package/module`: the package that the file was installed with, if any, and the file's base name
/// without what names an interpreter, a version or a build.
pub fn module_identity(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.split_once(".so").map_or(name, |(stem, _)| stem);
    let stem = stem.split_once(".cpython-").map_or(stem, |(stem, _)| stem);
    let stem = stem
        .strip_suffix(".abi3")
        .or_else(|| stem.strip_suffix(".abi3t"))
        .unwrap_or(stem);
    // Wheels carry libraries under names with a hash: libopenblas-r0-f650aae0.
    let stem = match stem.rsplit_once('-') {
        Some((stem, tail)) if is_build_hash(tail) => stem,
        _ => stem,
    };
    let installed = ["/site-packages/", "/dist-packages/"]
        .iter()
        .find_map(|directory| path.split_once(directory).map(|(_, rest)| rest));
    match installed.and_then(|rest| rest.split_once('/')) {
        Some((package, _)) => format!(
            "{}/{stem}",
            package.strip_suffix(".libs").unwrap_or(package)
        ),
        None => stem.to_owned(),
    }
}

/// What a wheel's tools put behind the name of a library: a hash, perhaps a version.
fn is_build_hash(tail: &str) -> bool {
    let hash = tail.split('.').next().unwrap_or(tail);
    hash.len() >= 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A function's name without what differs between builds of the same source.
pub fn stable_function(name: &str) -> &str {
    [".cold", ".part.", ".constprop.", ".isra.", ".llvm."]
        .iter()
        .filter_map(|suffix| name.find(suffix))
        .min()
        .and_then(|end| name.get(..end))
        .unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_builds_and_machines_are_left_out() {
        for (path, expected) in [
            (
                "/a/lib/python3.11/site-packages/circt/_mlir_libs/_mlir.cpython-311-x86_64-linux-gnu.so",
                "circt/_mlir",
            ),
            (
                "/b/site-packages/numpy.libs/libopenblas64_p-r0-742d56dc.3.20.so",
                "numpy/libopenblas64_p-r0",
            ),
            (
                "/c/site-packages/cryptography/hazmat/bindings/_rust.abi3.so",
                "cryptography/_rust",
            ),
            ("/d/build/extension.so", "extension"),
            ("/usr/lib/libfoo.so.1.2", "libfoo"),
            ("/home/me/app", "app"),
        ] {
            assert_eq!(module_identity(path), expected);
        }
        assert_eq!(stable_function("work.part.0.cold"), "work");
    }
}
