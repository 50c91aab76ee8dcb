//! The cache of interpreters, environments and built scenarios, outside the source tree, so that
//! a second test run starts at once and a `cargo clean` does not fetch everything again.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Names the cache directory when it should not be `~/.cache/refsan/tests`.
const VARIABLE: &str = "REFSAN_TEST_CACHE";

/// Its presence says that an entry was made to the end.
const COMPLETE: &str = ".complete";

/// The cache directory.
#[derive(Debug, Clone)]
pub struct Cache {
    root: PathBuf,
}

/// An exclusive lock between threads and processes, held until it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Why the cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// There is no place for it.
    #[error("no cache directory: neither {VARIABLE} nor HOME is set; set {VARIABLE}")]
    NoPlace,
    /// The file system refused.
    #[error("test cache: cannot {action} {}: {source}; set {VARIABLE} to a writable directory", path.display())]
    File {
        /// What was tried.
        action: &'static str,
        /// With which path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl Cache {
    /// The cache named by `REFSAN_TEST_CACHE`, or `~/.cache/refsan/tests`.
    ///
    /// # Errors
    /// Neither the variable nor `HOME` is set, or the directory cannot be made.
    pub fn open() -> Result<Self, CacheError> {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let root = match (set(VARIABLE), set("HOME")) {
            (Some(root), _) => PathBuf::from(root),
            (None, Some(home)) => Path::new(&home).join(".cache/refsan/tests"),
            (None, None) => return Err(CacheError::NoPlace),
        };
        Self::at(root)
    }

    /// A cache in the directory `root`, which is made when it is not there.
    ///
    /// # Errors
    /// The directory cannot be made.
    pub fn at(root: impl Into<PathBuf>) -> Result<Self, CacheError> {
        let root = root.into();
        make_directory(&root)?;
        let root = root.canonicalize().map_err(failed("resolve", &root))?;
        Ok(Self { root })
    }

    /// The directory of an entry, whether or not it has been made.
    pub fn entry(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// The directory of an entry that was made to the end.
    pub fn complete(&self, name: &str) -> Option<PathBuf> {
        let directory = self.entry(name);
        directory.join(COMPLETE).is_file().then_some(directory)
    }

    /// Waits for the lock of that name.
    ///
    /// # Errors
    /// The lock file cannot be made or locked.
    pub fn lock(&self, name: &str) -> Result<Lock, CacheError> {
        let directory = self.root.join("locks");
        make_directory(&directory)?;
        let path = directory.join(format!("{}.lock", name.replace('/', "-")));
        let file = File::create(&path).map_err(failed("create", &path))?;
        loop {
            match flock(&file, FlockOperation::LockExclusive) {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(failed("lock", &path)(error.into())),
            }
        }
    }

    /// The entry `name`, made by `make` unless it is there.
    ///
    /// An entry is made in its final place, since virtual environments and patched loaders hold
    /// their own path and cannot be renamed. A mark written last tells the complete from the
    /// broken; what has no mark is removed and made anew.
    ///
    /// # Errors
    /// Those of `make`, and those of the file system.
    pub fn once<E: From<CacheError>>(
        &self,
        name: &str,
        make: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        if let Some(directory) = self.complete(name) {
            return Ok(directory);
        }
        let _lock = self.lock(name)?;
        if let Some(directory) = self.complete(name) {
            return Ok(directory);
        }
        let directory = self.entry(name);
        if directory.exists() {
            fs::remove_dir_all(&directory).map_err(failed("remove", &directory))?;
        }
        make_directory(&directory)?;
        make(&directory)?;
        let mark = directory.join(COMPLETE);
        fs::write(&mark, "").map_err(failed("write", &mark))?;
        Ok(directory)
    }
}

fn make_directory(path: &Path) -> Result<(), CacheError> {
    fs::create_dir_all(path).map_err(failed("create", path))
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> CacheError {
    let path = path.to_path_buf();
    move |source| CacheError::File {
        action,
        path,
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn an_entry_is_made_once_even_by_many_threads() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path()).unwrap();
        let made = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    cache
                        .once::<CacheError>("kind/key", |path| {
                            made.fetch_add(1, Ordering::SeqCst);
                            std::thread::sleep(std::time::Duration::from_millis(20));
                            fs::write(path.join("content"), "x").unwrap();
                            Ok(())
                        })
                        .unwrap()
                });
            }
        });
        assert_eq!(made.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_broken_entry_is_removed_and_made_anew() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::at(directory.path()).unwrap();
        let failing = cache.once("entry", |path| {
            fs::write(path.join("half"), "x").unwrap();
            Err(CacheError::NoPlace)
        });
        assert!(failing.is_err());
        assert!(cache.complete("entry").is_none());
        let entry = cache.once::<CacheError>("entry", |_| Ok(())).unwrap();
        assert!(!entry.join("half").exists());
    }
}
