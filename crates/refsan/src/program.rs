//! Finds the program that is to be run and what stands in the way of watching it.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::args::ProgramArguments;
use crate::error::CommandError;

/// A program and its arguments.
#[derive(Debug)]
pub struct Program {
    /// The file.
    pub path: PathBuf,
    /// The name as given.
    pub name: OsString,
    /// The arguments behind it.
    pub arguments: Vec<OsString>,
}

impl Program {
    /// What the command line asks for.
    ///
    /// # Errors
    /// When there is no such command.
    pub fn of(arguments: &ProgramArguments) -> Result<Program, CommandError> {
        if let Some(module) = &arguments.module {
            let name = OsString::from("python3");
            let mut all = vec![OsString::from("-m"), module.clone()];
            all.extend(arguments.command.iter().cloned());
            return Ok(Program {
                path: find(&name)?,
                name,
                arguments: all,
            });
        }
        let (name, rest) = arguments
            .command
            .split_first()
            .ok_or_else(|| CommandError::NoSuchCommand(String::new()))?;
        Ok(Program {
            path: find(name)?,
            name: name.clone(),
            arguments: rest.to_vec(),
        })
    }

    /// The command line for messages.
    pub fn shown(&self) -> String {
        let words = std::iter::once(&self.name).chain(&self.arguments);
        let text = words
            .map(|word| word.to_string_lossy())
            .collect::<Vec<_>>()
            .join(" ");
        let mut short: String = text.chars().take(80).collect();
        if short.len() < text.len() {
            short.push('…');
        }
        short.replace('\n', "⏎")
    }
}

fn find(name: &OsString) -> Result<PathBuf, CommandError> {
    let given = Path::new(name);
    let missing = || CommandError::NoSuchCommand(name.to_string_lossy().into_owned());
    if given.components().count() > 1 {
        return given.exists().then(|| given.to_owned()).ok_or_else(missing);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|candidate| is_executable(candidate))
        .ok_or_else(missing)
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// Why the loader will not preload the runtime into a file; `None` when nothing is known.
pub fn obstacle(path: &Path) -> Option<&'static str> {
    let data = path.metadata().ok()?;
    if data.mode() & 0o6000 != 0 {
        return Some(
            "it runs with other rights than yours (setuid or setgid), and the loader ignores LD_PRELOAD then",
        );
    }
    let mut start = Vec::new();
    File::open(path)
        .ok()?
        .take(64 * 1024)
        .read_to_end(&mut start)
        .ok()?;
    if start.get(..4)? != b"\x7fELF" {
        return None;
    }
    if start.get(4..6)? != [2, 1] || start.get(18..20)? != [62, 0] {
        return Some("it is not a 64-bit x86 program");
    }
    let number = |range: std::ops::Range<usize>| -> Option<u64> {
        let mut bytes = [0; 8];
        let part = start.get(range)?;
        bytes.get_mut(..part.len())?.copy_from_slice(part);
        Some(u64::from_le_bytes(bytes))
    };
    let (table, size, count) = (number(32..40)?, number(54..56)?, number(56..58)?);
    let has_loader = (0..count).any(|index| {
        let offset = usize::try_from(table + index * size).unwrap_or(usize::MAX);
        // PT_INTERP
        offset.checked_add(4).and_then(|end| number(offset..end)) == Some(3)
    });
    (!has_loader).then_some("it is statically linked, so no loader reads LD_PRELOAD")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn obstacles_are_told_from_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        let mut file = std::fs::read("/proc/self/exe").unwrap();
        std::fs::write(&path, &file).unwrap();
        assert_eq!(obstacle(&path), None);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o4755)).unwrap();
        assert!(obstacle(&path).unwrap().contains("setuid"));
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        // Turn PT_INTERP into PT_NULL.
        let table = u64::from_le_bytes(file[32..40].try_into().unwrap()) as usize;
        let count = usize::from(u16::from_le_bytes(file[56..58].try_into().unwrap()));
        for index in 0..count {
            let entry = table + 56 * index;
            if file[entry..entry + 4] == 3_u32.to_le_bytes() {
                file[entry] = 0;
            }
        }
        std::fs::write(&path, &file).unwrap();
        assert!(obstacle(&path).unwrap().contains("statically"));
        std::fs::write(&path, b"#!/bin/sh\n").unwrap();
        assert_eq!(obstacle(&path), None);
        std::fs::write(&path, b"\x7fELF").unwrap();
        assert_eq!(obstacle(&path), None);
    }

    #[test]
    fn a_command_that_is_not_there_is_named() {
        let error = find(&"no-such-command-anywhere".into())
            .unwrap_err()
            .to_string();
        assert!(error.contains("no-such-command-anywhere"), "{error}");
    }
}
