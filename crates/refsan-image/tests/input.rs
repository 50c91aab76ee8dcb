//! Archives and directories, friendly and hostile.

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use refsan_image::input::{Content, Entry, Limits, open};
use std::fs;
use std::io::{Cursor, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use tempfile::TempDir;
use zip::write::SimpleFileOptions;

/// Begins like an ELF file; what follows is not looked at here.
const BINARY: &[u8] = b"\x7fELF and more";

fn directory() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

fn zip(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer
            .start_file(*name, SimpleFileOptions::default())
            .expect("a member");
        writer.write_all(bytes).expect("its bytes");
    }
    writer.finish().expect("a zip file").into_inner()
}

fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder
            .append_data(&mut header, name, *bytes)
            .expect("a member");
    }
    builder.into_inner().expect("a tar file")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).expect("packing");
    encoder.finish().expect("a gzip file")
}

/// Names relative to the directory, with what became of each.
fn list(root: &Path, path: &Path, limits: Limits) -> Vec<(String, String)> {
    let prefix = format!("{}/", root.display());
    let describe = |entry: Entry| {
        let content = match entry.content {
            Content::Binary(bytes) => format!("{} bytes", bytes.len()),
            Content::Skipped(reason) => format!("skipped: {reason}"),
            Content::Unreadable(reason) => format!("unreadable: {reason}"),
        };
        (entry.name.replace(&prefix, ""), content)
    };
    open(path, limits).map(describe).collect()
}

fn written(bytes: &[u8], name: &str) -> Vec<(String, String)> {
    let root = directory();
    let path = root.path().join(name);
    fs::write(&path, bytes).expect("the file");
    list(root.path(), &path, Limits::default())
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    let owned = |(name, content): &(&str, &str)| ((*name).to_owned(), (*content).to_owned());
    expected.iter().map(owned).collect()
}

#[test]
fn members_of_archives_are_named_after_both() {
    let members: &[(&str, &[u8])] = &[
        ("pkg/__init__.py", b"print()"),
        ("pkg/_core.so", BINARY),
        ("pkg/data.bin", BINARY),
        ("pkg/script.so", b"INPUT(libc.so.6)"),
    ];
    let expected = |archive: &str| {
        [
            (format!("{archive}!pkg/_core.so"), "13 bytes".to_owned()),
            (format!("{archive}!pkg/data.bin"), "13 bytes".to_owned()),
            (
                format!("{archive}!pkg/script.so"),
                "skipped: named like a binary, but it begins like none".to_owned(),
            ),
        ]
    };
    assert_eq!(written(&zip(members), "a.whl"), expected("a.whl"));
    assert_eq!(written(&tar(members), "a.tar"), expected("a.tar"));
    assert_eq!(
        written(&gzip(&tar(members)), "a.tar.gz"),
        expected("a.tar.gz")
    );
}

#[test]
fn archives_in_archives_are_read_one_level_deep() {
    let inner = zip(&[("_core.so", BINARY)]);
    let middle = tar(&[("inner.whl", &inner)]);
    assert_eq!(
        written(&zip(&[("inner.whl", &inner)]), "outer.zip"),
        pairs(&[("outer.zip!inner.whl!_core.so", "13 bytes")])
    );
    let deep = written(&zip(&[("middle.tar", &middle)]), "outer.zip");
    assert_eq!(deep.len(), 1);
    assert_eq!(deep[0].0, "outer.zip!middle.tar!inner.whl");
    assert!(
        deep[0].1.starts_with("skipped: an archive in an archive"),
        "{deep:?}"
    );
}

#[test]
fn paths_that_leave_the_archive_are_only_names() {
    let name = "../../outside/_core.so";
    let root = directory();
    let inside = root.path().join("a/b/c");
    fs::create_dir_all(&inside).expect("directories");
    let path = inside.join("evil.whl");
    fs::write(&path, zip(&[(name, BINARY), ("/etc/_core.so", BINARY)])).expect("the file");
    let found = list(&inside, &path, Limits::default());
    let expected = [
        ("evil.whl!../../outside/_core.so", "13 bytes"),
        ("evil.whl!/etc/_core.so", "13 bytes"),
    ];
    assert_eq!(found, pairs(&expected));
    assert!(!root.path().join("a/outside").exists());
}

#[test]
fn long_member_names_of_tar_files_are_kept() {
    let long = format!("{}/_core.so", "directory".repeat(30));
    let found = written(&gzip(&tar(&[(&long, BINARY)])), "long.tar.gz");
    assert_eq!(
        found,
        [(format!("long.tar.gz!{long}"), "13 bytes".to_owned())]
    );
}

#[test]
fn extended_headers_override_the_plain_ones() {
    let mut builder = tar::Builder::new(Vec::new());
    builder
        .append_pax_extensions([("path", &b"pkg/_core.so"[..]), ("size", b"13")])
        .expect("a header");
    let mut header = tar::Header::new_ustar();
    header.set_path("short").expect("a name");
    header.set_size(13);
    header.set_mode(0o644);
    header.set_cksum();
    builder.append(&header, BINARY).expect("a member");
    let mut bytes = builder.into_inner().expect("a tar file");
    // The plain header gives no size: the extended one counts.
    let mut plain = tar::Header::from_byte_slice(&bytes[1024..1536]).clone();
    plain.set_size(0);
    plain.set_cksum();
    bytes[1024..1536].copy_from_slice(plain.as_bytes());
    let found = written(&bytes, "pax.tar");
    assert_eq!(found, pairs(&[("pax.tar!pkg/_core.so", "13 bytes")]));
}

#[test]
fn decompression_bombs_are_refused() {
    let mut zeros = vec![0; 80 << 20];
    zeros[..4].copy_from_slice(b"\x7fELF");
    let found = written(&zip(&[("a.so", &zeros), ("b.so", BINARY)]), "bomb.whl");
    assert!(found[0].1.contains("decompression bomb"), "{found:?}");
    assert_eq!(
        found[1],
        ("bomb.whl!b.so".to_owned(), "13 bytes".to_owned())
    );
    let found = written(&gzip(&tar(&[("a.so", &zeros)])), "bomb.tar.gz");
    assert!(
        found
            .iter()
            .any(|(_, content)| content.contains("decompression bomb")),
        "{found:?}"
    );
    assert!(
        found
            .iter()
            .all(|(_, content)| content.starts_with("unreadable")),
        "{found:?}"
    );
}

#[test]
fn limits_hold() {
    let root = directory();
    let path = root.path().join("a.whl");
    let big = [BINARY, &[1; 100]].concat();
    fs::write(
        &path,
        zip(&[("a.so", &big), ("b.so", BINARY), ("c.so", BINARY)]),
    )
    .expect("a file");
    let limits = Limits {
        entry_bytes: 50,
        total_bytes: 20,
        ..Limits::default()
    };
    let found = list(root.path(), &path, limits);
    assert!(
        found[0]
            .1
            .starts_with("unreadable: 113 bytes when unpacked"),
        "{found:?}"
    );
    assert_eq!(found[1].1, "13 bytes");
    assert!(found[2].1.contains("of which 7 are allowed"), "{found:?}");
    let few = Limits {
        entries: 2,
        ..Limits::default()
    };
    let found = list(root.path(), &path, few);
    assert_eq!(
        found,
        pairs(&[("a.whl", "unreadable: more members than allowed")])
    );
    let found = list(root.path(), root.path(), Limits { entries: 0, ..few });
    assert!(found[0].1.contains("more files than allowed"), "{found:?}");
}

#[test]
fn damaged_archives_end_with_a_reason() {
    let whole = zip(&[("a.so", BINARY)]);
    let found = written(&whole[..whole.len() - 10], "cut.whl");
    assert!(
        found[0].1.starts_with("unreadable: not a sound zip file"),
        "{found:?}"
    );
    let whole = gzip(&tar(&[("a.so", BINARY), ("b.so", &[7; 5000])]));
    let found = written(&whole[..whole.len() - 20], "cut.tar.gz");
    assert!(
        found
            .iter()
            .any(|(_, content)| content.starts_with("unreadable")),
        "{found:?}"
    );
    let mut flipped = tar(&[("a.so", BINARY)]);
    flipped[3] ^= 1;
    let found = written(&flipped, "flipped.tar");
    assert!(found[0].1.contains("wrong checksum"), "{found:?}");
    assert!(
        written(&gzip(b"text"), "text.gz")[0]
            .1
            .starts_with("unreadable: expected a tar file")
    );
    assert!(
        written(b"BZh91AY", "a.tar.bz2")[0]
            .1
            .starts_with("skipped: bzip2 is not read")
    );
}

#[test]
fn directories_are_sorted_and_links_do_not_loop() {
    let root = directory();
    let package = root.path().join("pkg");
    fs::create_dir(&package).expect("a directory");
    for name in ["b.so", "a.so", "tool"] {
        fs::write(package.join(name), BINARY).expect("a file");
    }
    fs::write(package.join("module.py"), "print()").expect("a file");
    fs::write(package.join("data.gz"), gzip(b"data")).expect("a file");
    fs::write(package.join("z.whl"), zip(&[("c.so", BINARY)])).expect("a file");
    symlink(root.path(), package.join("loop")).expect("a link");
    symlink("a.so", package.join("a.so.1")).expect("a link");
    symlink("nowhere", package.join("dangling.so")).expect("a link");
    symlink("nowhere", package.join("dangling.txt")).expect("a link");
    let found = list(root.path(), root.path(), Limits::default());
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "pkg/a.so",
            "pkg/b.so",
            "pkg/dangling.so",
            "pkg/tool",
            "pkg/z.whl!c.so"
        ]
    );
    assert!(
        found[2].1.starts_with("unreadable: No such file"),
        "{found:?}"
    );
}

#[test]
fn what_is_no_file_is_not_opened() {
    let root = directory();
    let pipe = root.path().join("pipe.so");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .expect("mkfifo");
    assert!(made.success());
    assert_eq!(list(root.path(), root.path(), Limits::default()), []);
    let found = list(root.path(), &pipe, Limits::default());
    assert!(found[0].1.contains("neither a regular file"), "{found:?}");
    let found = list(
        root.path(),
        &root.path().join("missing.so"),
        Limits::default(),
    );
    assert!(
        found[0].1.starts_with("unreadable: No such file"),
        "{found:?}"
    );
    fs::write(root.path().join("empty.so"), b"").expect("a file");
    let found = list(
        root.path(),
        &root.path().join("empty.so"),
        Limits::default(),
    );
    assert!(found[0].1.starts_with("skipped"), "{found:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn damage_is_survived(
        form in 0..3usize,
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..10),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let inner = zip(&[("c.so", BINARY)]);
        let members: &[(&str, &[u8])] = &[("a.so", BINARY), ("b.py", b"print()"), ("d.whl", &inner)];
        let mut bytes = match form {
            0 => zip(members),
            1 => tar(members),
            _ => gzip(&tar(members)),
        };
        for (at, value) in places {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        // At most the three members, and one entry that says why reading ended.
        let found = written(&bytes, "damaged.tar.gz");
        prop_assert!(found.len() <= 4, "{found:?}");
    }
}
