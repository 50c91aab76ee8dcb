//! Files of a directory tree: sorted, each once, whatever symbolic links say.

use super::Entry;
use super::content::{Content, FileBytes};
use super::limits::Budget;
use super::magic::{self, Kind};
use std::collections::HashSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Paths still to be visited, the next one last.
#[derive(Debug)]
pub(super) struct Paths {
    given: Option<PathBuf>,
    pending: Vec<PathBuf>,
    /// Device and inode of what was visited: ends loops and joins links to one file.
    seen: HashSet<(u64, u64)>,
}

impl Paths {
    pub(super) fn new(path: &Path) -> Self {
        Self {
            given: Some(path.to_owned()),
            pending: Vec::new(),
            seen: HashSet::new(),
        }
    }

    /// Visits the next path. `None` at the end, `Some(None)` if it is of no interest.
    pub(super) fn step(&mut self, budget: &mut Budget) -> Option<Option<Entry>> {
        let is_given = self.given.is_some();
        let path = self.given.take().or_else(|| self.pending.pop())?;
        let entry = |content| {
            Some(Some(Entry {
                name: path.display().to_string(),
                content,
            }))
        };
        if !budget.spend_file() {
            self.pending.clear();
            return entry(Content::Unreadable(
                "more files than allowed; name the directories one by one".into(),
            ));
        }
        let file_name = path.to_string_lossy();
        let is_wanted = is_given || magic::is_named_like_binary(&file_name);
        let metadata = match path.metadata() {
            Ok(metadata) => metadata,
            // A dangling link to something else is nobody's loss.
            Err(error) if is_wanted => return entry(Content::Unreadable(error.to_string())),
            Err(_) => return Some(None),
        };
        if !self.seen.insert((metadata.dev(), metadata.ino())) {
            return Some(None);
        }
        if metadata.is_dir() {
            return match self.list(&path) {
                Ok(()) => Some(None),
                Err(error) => entry(Content::Unreadable(error.to_string())),
            };
        }
        if !metadata.is_file() && !is_given {
            return Some(None);
        }
        let bytes = match FileBytes::map(&path) {
            Ok(bytes) => bytes,
            Err(reason) if is_wanted || is_archive_name(&file_name) => {
                return entry(Content::Unreadable(reason));
            }
            Err(_) => return Some(None),
        };
        match Kind::of(&bytes) {
            Kind::Binary => entry(Content::Binary(bytes)),
            Kind::Other if is_wanted => entry(Content::Skipped(
                "neither a binary, a wheel nor a source distribution".into(),
            )),
            Kind::Other => Some(None),
            // In a directory only distributions are opened, not every compressed data file.
            _ if is_given || is_archive_name(&file_name) => entry(Content::Binary(bytes)),
            _ => Some(None),
        }
    }

    fn list(&mut self, directory: &Path) -> std::io::Result<()> {
        let mut children = fs::read_dir(directory)?
            .map(|child| child.map(|child| child.path()))
            .collect::<Result<Vec<_>, _>>()?;
        children.sort_unstable_by(|a, b| b.cmp(a));
        self.pending.append(&mut children);
        Ok(())
    }
}

fn is_archive_name(name: &str) -> bool {
    [".whl", ".zip", ".egg", ".tar.gz", ".tgz", ".tar"]
        .iter()
        .any(|ending| name.ends_with(ending))
}
