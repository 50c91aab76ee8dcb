//! Finds the binaries in files, directories, wheels and source distributions, one at a time.
//!
//! Nothing is written to disk: a path inside an archive is only a name. Whatever cannot be
//! read becomes an entry with its reason, and the rest goes on.

mod content;
mod directory;
mod limits;
mod magic;
mod tags;
mod tarball;
mod wheel;

pub use content::{Content, FileBytes};
pub use limits::Limits;
pub use tags::PythonTags;

use directory::Paths;
use limits::Budget;
use magic::Kind;
use std::io::{self, Read};
use std::path::Path;
use tarball::Tarball;
use wheel::Wheel;

/// A file that is, or is named like, a binary or an archive.
#[derive(Debug)]
pub struct Entry {
    /// The path as it was given or found, with `!` before the path inside an archive:
    /// `dist/pkg.whl!pkg/_core.so`.
    pub name: String,
    /// Its bytes, or why there are none.
    pub content: Content,
}

/// The entries of one input, read as they are asked for.
#[derive(Debug)]
pub struct Entries {
    paths: Paths,
    /// Open archives, the innermost last.
    archives: Vec<Archive>,
    limits: Limits,
    budget: Budget,
}

/// An archive that is being read.
#[derive(Debug)]
enum Archive {
    Wheel(Box<Wheel>),
    Tarball(Box<Tarball>),
}

/// Archives in archives are read one level deep.
const DEEPEST: usize = 2;

/// Lists the binaries of a file, a directory or an archive. Files of a directory come sorted
/// by name and each once, whatever links lead to it; archives keep their order.
#[must_use]
pub fn open(path: impl AsRef<Path>, limits: Limits) -> Entries {
    Entries {
        paths: Paths::new(path.as_ref()),
        archives: Vec::new(),
        budget: Budget::new(&limits),
        limits,
    }
}

impl Iterator for Entries {
    type Item = Entry;

    fn next(&mut self) -> Option<Entry> {
        loop {
            let entry = if let Some(archive) = self.archives.last_mut() {
                let step = match archive {
                    Archive::Wheel(wheel) => wheel.step(&self.limits, &mut self.budget),
                    Archive::Tarball(tarball) => tarball.step(&self.limits, &mut self.budget),
                };
                match step {
                    Step::Entry(entry) => self.enter(entry),
                    Step::Nothing => None,
                    Step::End(last) => {
                        self.archives.pop();
                        last
                    }
                }
            } else {
                let entry = self.paths.step(&mut self.budget)?;
                // Each file given or found may fill the limit of one archive anew.
                self.budget.refill(&self.limits);
                entry.and_then(|entry| self.enter(entry))
            };
            if entry.is_some() {
                return entry;
            }
        }
    }
}

/// What reading on in an archive gave.
enum Step {
    Entry(Entry),
    /// A member of no interest.
    Nothing,
    /// The archive is at its end, or cannot be read further.
    End(Option<Entry>),
}

impl Entries {
    /// Hands a binary on, and opens an archive.
    fn enter(&mut self, entry: Entry) -> Option<Entry> {
        let Content::Binary(bytes) = &entry.content else {
            return Some(entry);
        };
        let kind = Kind::of(bytes);
        if kind == Kind::Binary {
            return Some(entry);
        }
        let Entry { name, content } = entry;
        let refused = |content| {
            Some(Entry {
                name: name.clone(),
                content,
            })
        };
        let Content::Binary(bytes) = content else {
            return None;
        };
        if self.archives.len() >= DEEPEST {
            return refused(Content::Skipped(
                "an archive in an archive in an archive; unpack the outer one".into(),
            ));
        }
        let archive = match kind {
            Kind::Zip => Wheel::new(name.clone(), bytes, &self.limits)
                .map(|wheel| Archive::Wheel(Box::new(wheel))),
            Kind::Gzip | Kind::Tar => Tarball::new(name.clone(), bytes, kind, &self.limits)
                .map(|tarball| Archive::Tarball(Box::new(tarball))),
            Kind::OtherArchive(format) => {
                return refused(Content::Skipped(format!(
                    "{format} is not read; unpack it first"
                )));
            }
            Kind::Binary | Kind::Other => return None,
        };
        match archive {
            Ok(archive) => {
                self.archives.push(archive);
                None
            }
            Err(reason) => refused(Content::Unreadable(reason)),
        }
    }
}

/// Reads a member whose first bytes look like a binary or an archive.
fn read_member(
    name: String,
    inner: &str,
    declared: u64,
    reader: &mut impl Read,
    limits: &Limits,
    budget: &mut Budget,
) -> Option<Entry> {
    let entry = |content| {
        Some(Entry {
            name: name.clone(),
            content,
        })
    };
    let mut bytes = Vec::new();
    if let Err(error) = reader.take(magic::HEAD as u64).read_to_end(&mut bytes) {
        return magic::is_named_like_binary(inner)
            .then(|| entry(Content::Unreadable(error.to_string())))?;
    }
    match Kind::of(&bytes) {
        Kind::Other if magic::is_named_like_binary(inner) => {
            return entry(Content::Skipped(
                "named like a binary, but it begins like none".into(),
            ));
        }
        Kind::Other => return None,
        // A compressed member of a data directory is no distribution.
        Kind::Gzip if !inner.ends_with(".tar.gz") && !inner.ends_with(".tgz") => return None,
        _ => {}
    }
    let most = limits.entry_bytes.min(budget.bytes_left());
    if declared > most {
        return entry(Content::Unreadable(format!(
            "{declared} bytes when unpacked, of which {most} are allowed"
        )));
    }
    let mut rest = reader.take((most + 1).saturating_sub(bytes.len() as u64));
    if let Err(error) = read_growing(&mut rest, &mut bytes) {
        return entry(Content::Unreadable(error.to_string()));
    }
    if bytes.len() as u64 > most {
        return entry(Content::Unreadable(format!(
            "more than the allowed {most} bytes when unpacked"
        )));
    }
    budget.spend_bytes(bytes.len() as u64);
    entry(Content::Binary(FileBytes::owned(bytes)))
}

/// Reads to the end; memory grows with what is really there, not with what a header says.
fn read_growing(reader: &mut impl Read, bytes: &mut Vec<u8>) -> io::Result<()> {
    reader.read_to_end(bytes).map(|_| ())
}
