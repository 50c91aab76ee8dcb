//! Where reports go and in which formats.

use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use refsan_model::Report;
use refsan_report::{Format, Options};

use crate::args::{Color, OutputArguments};
use crate::error::CommandError;

/// Where text goes that is not given a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextStream {
    /// Standard output: nothing else writes there.
    Stdout,
    /// Standard error: standard output belongs to the program that was run.
    Stderr,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Stdout,
    Stderr,
    File(PathBuf),
}

/// The outputs of a command, checked before any work is done.
#[derive(Debug)]
pub struct Outputs {
    targets: Vec<(Format, Target)>,
    options: Options,
    color: Color,
    force: bool,
}

impl Outputs {
    /// What the command line asks for.
    ///
    /// # Errors
    /// When a file exists and may not be overwritten, or cannot be written.
    pub fn new(arguments: &OutputArguments, stream: TextStream) -> Result<Outputs, CommandError> {
        let plain = |format: Format| match (&arguments.output, stream, format) {
            (Some(file), ..) if file == Path::new("-") => Target::Stdout,
            (Some(file), ..) => Target::File(file.clone()),
            // Who asks for a machine format without a file reads standard output.
            (None, _, Format::Json | Format::Jsonl) | (None, TextStream::Stdout, _) => {
                Target::Stdout
            }
            (None, TextStream::Stderr, _) => Target::Stderr,
        };
        let mut targets = Vec::new();
        for wanted in &arguments.format {
            let target = wanted
                .file
                .clone()
                .map_or_else(|| plain(wanted.format), Target::File);
            targets.push((wanted.format, target));
        }
        // With files only, a person still sees the result.
        if targets
            .iter()
            .all(|(_, target)| matches!(target, Target::File(_)))
        {
            let to_file = arguments
                .output
                .as_deref()
                .is_some_and(|file| file != Path::new("-"));
            if arguments.format.is_empty() {
                let target = plain(Format::Full);
                let terminal = match &target {
                    Target::Stdout => io::stdout().is_terminal(),
                    Target::Stderr => io::stderr().is_terminal(),
                    Target::File(_) => true,
                };
                targets.push((
                    if terminal {
                        Format::Full
                    } else {
                        Format::Concise
                    },
                    target,
                ));
            } else if !to_file && stream == TextStream::Stderr {
                targets.push((Format::Concise, Target::Stderr));
            }
        }
        let outputs = Outputs {
            targets,
            options: Options {
                stacks: arguments.stacks,
                native: !arguments.no_native,
                max_findings: arguments.max_findings,
                ..Options::default()
            },
            color: arguments.color,
            force: arguments.force,
        };
        outputs.check()?;
        Ok(outputs)
    }

    /// A report that cannot be written is better known before the program has run for an hour.
    fn check(&self) -> Result<(), CommandError> {
        for (_, target) in &self.targets {
            let Target::File(path) = target else { continue };
            let exists = path.exists();
            if exists && !self.force && path.is_file() {
                return Err(CommandError::Exists(path.clone()));
            }
            let open = OpenOptions::new().append(true).create(true).open(path);
            open.map_err(|source| CommandError::Output {
                path: path.clone(),
                source,
            })?;
            if !exists {
                let _ = std::fs::remove_file(path);
            }
        }
        Ok(())
    }

    /// Writes the report everywhere.
    ///
    /// # Errors
    /// The first that occurs; the other outputs are written all the same.
    pub fn write(&self, report: &Report) -> Result<(), CommandError> {
        let mut result = Ok(());
        for (format, target) in &self.targets {
            if let Err(error) = self.write_one(report, *format, target) {
                result = result.and(Err(error));
            }
        }
        result
    }

    fn write_one(
        &self,
        report: &Report,
        format: Format,
        target: &Target,
    ) -> Result<(), CommandError> {
        let mut options = self.options;
        options.color = self.wants_color(target);
        let mut bytes = Vec::new();
        let rendered = refsan_report::render(report, format, &options, &mut bytes);
        let written = rendered.and_then(|()| match target {
            Target::Stdout => io::stdout().lock().write_all(&bytes),
            Target::Stderr => io::stderr().lock().write_all(&bytes),
            Target::File(path) => std::fs::write(path, &bytes),
        });
        let path = match target {
            Target::Stdout => PathBuf::from("standard output"),
            Target::Stderr => PathBuf::from("standard error"),
            Target::File(path) => path.clone(),
        };
        match written {
            // A reader such as `head` may have seen enough.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result.map_err(|source| CommandError::Output { path, source }),
        }
    }

    fn wants_color(&self, target: &Target) -> bool {
        let set =
            |name| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
        match self.color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto if set("NO_COLOR") => false,
            Color::Auto if set("FORCE_COLOR") || set("CLICOLOR_FORCE") => true,
            Color::Auto => match target {
                Target::Stdout => io::stdout().is_terminal(),
                Target::Stderr => io::stderr().is_terminal(),
                Target::File(_) => false,
            },
        }
    }
}
