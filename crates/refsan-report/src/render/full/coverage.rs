//! What was watched and what was not: the ground on which the findings, or their absence, stand.

use std::collections::{BTreeMap, HashSet};
use std::io;

use refsan_model::{
    ModuleCoverage, ModuleStatus, ProcessCoverage, ReleaseVisibility, Report, SymbolQuality,
};

use super::Page;
use crate::clean::{clean, name};
use crate::number::{grouped, plural};
use crate::paint::Ink;

/// Processes with findings or trouble whose modules are shown.
const TOLD: usize = 5;
/// Other processes that get a line.
const NAMED: usize = 5;
/// Watched modules shown beside those with findings: the busiest ones.
const BUSIEST: usize = 5;
/// Names shown of a list.
const NAMES: usize = 3;

impl Page<'_> {
    pub(super) fn coverage(&mut self, report: &Report) -> io::Result<()> {
        let processes = &report.coverage.processes;
        writeln!(self.out, "\n{}", self.paint.of(Ink::Label, "Coverage"))?;
        if processes.is_empty() {
            return writeln!(self.out, "  no process was watched");
        }
        let guilty: HashSet<(u32, &str)> = report
            .findings
            .iter()
            .map(|finding| (finding.process.pid, finding.module_path.as_str()))
            .collect();
        let guilty_pids: HashSet<u32> = guilty.iter().map(|(pid, _)| *pid).collect();

        let (mut told, mut named) = (0, 0);
        let mut rest: Vec<&ProcessCoverage> = Vec::new();
        for (number, process) in processes.iter().enumerate() {
            let telling = number == 0 || guilty_pids.contains(&process.pid) || is_troubled(process);
            if telling && told < TOLD {
                told += 1;
                self.process(process)?;
                self.modules(process, &guilty)?;
            } else if named < NAMED {
                named += 1;
                self.process(process)?;
            } else {
                rest.push(process);
            }
        }
        if !rest.is_empty() {
            let with_findings = rest
                .iter()
                .filter(|process| guilty_pids.contains(&process.pid))
                .count();
            let calls = rest
                .iter()
                .map(|process| process.calls)
                .fold(0, u64::saturating_add);
            let guilt = match with_findings {
                0 => "without a finding".to_owned(),
                count => format!("{} of them with findings", grouped(count as u64)),
            };
            writeln!(
                self.out,
                "  … and {}, {guilt}, {} (--format json lists all)",
                plural(rest.len() as u64, "more process"),
                plural(calls, "call"),
            )?;
        }
        let last_only = processes
            .iter()
            .flat_map(|process| &process.modules)
            .any(|module| module.releases == ReleaseVisibility::LastOnly);
        if last_only {
            let note = "last only: the code decrements in place and calls out for the last \
                        reference alone, so no earlier release is seen";
            for line in super::wrapped(note, self.options.width.saturating_sub(2)) {
                writeln!(self.out, "  {}", self.paint.of(Ink::Faint, &line))?;
            }
        }
        Ok(())
    }

    fn process(&mut self, process: &ProcessCoverage) -> io::Result<()> {
        let python = match process.python.is_empty() {
            true => "no Python".to_owned(),
            false => format!("CPython {}", clean(&process.python)),
        };
        let program = name(&process.program, 80);
        let pid = self
            .paint
            .of(Ink::Strong, &format!("process {}", process.pid));
        write!(self.out, "  {pid}: {program}; {python}")?;
        if process.in_force {
            let (calls, dropped) = (
                plural(process.calls, "call"),
                plural(process.dropped, "event"),
            );
            write!(self.out, "; {calls} seen; {dropped} dropped")?;
        }
        writeln!(self.out)?;
        self.trouble(process)
    }

    fn modules(
        &mut self,
        process: &ProcessCoverage,
        guilty: &HashSet<(u32, &str)>,
    ) -> io::Result<()> {
        let (watched, skipped): (Vec<_>, Vec<_>) = process
            .modules
            .iter()
            .partition(|module| module.status == ModuleStatus::Watched);
        self.watched(process.pid, &watched, guilty)?;
        self.skipped(&skipped)?;
        self.unwatched(&watched)
    }

    /// What refsan could not do. None of it is the program's fault.
    fn trouble(&mut self, process: &ProcessCoverage) -> io::Result<()> {
        let mut lines = Vec::new();
        match (process.in_force, &process.reason) {
            (false, Some(reason)) => lines.push(format!("not supported here: {}", clean(reason))),
            (false, None) => lines.push("not watched: the hooks were not in force".to_owned()),
            (true, Some(reason)) => lines.push(format!("watched in part: {}", clean(reason))),
            (true, None) => {}
        }
        if process.in_force && !process.ended {
            lines.push("did not end in order: no exit handler was seen to run".to_owned());
        }
        lines.extend(
            process
                .damage
                .iter()
                .map(|text| format!("damaged trace: {}", clean(text))),
        );
        for line in lines {
            let mark = self
                .paint
                .of(Ink::Severity(refsan_model::Severity::Warning), "!");
            writeln!(self.out, "    {mark} {line}")?;
        }
        Ok(())
    }

    fn watched(
        &mut self,
        pid: u32,
        modules: &[&ModuleCoverage],
        guilty: &HashSet<(u32, &str)>,
    ) -> io::Result<()> {
        if modules.is_empty() {
            return Ok(());
        }
        let has_finding = |module: &ModuleCoverage| guilty.contains(&(pid, module.path.as_str()));
        let mut order = modules.to_vec();
        order.sort_by_key(|module| (!has_finding(module), std::cmp::Reverse(module.calls)));
        let first = order.iter().filter(|module| has_finding(module)).count() + BUSIEST;
        let shown = if order.len() <= first + 1 {
            order.len()
        } else {
            first
        };

        let head = format!(
            "    {:15}  {:>13}  {:7}  {}",
            "releases seen", "calls", "symbols", "module"
        );
        writeln!(self.out, "{}", self.paint.of(Ink::Faint, &head))?;
        for module in &order[..shown] {
            let mark = if has_finding(module) {
                "  <- findings"
            } else {
                ""
            };
            writeln!(
                self.out,
                "    {:15}  {:>13}  {:7}  {}{}",
                releases(module.releases),
                grouped(module.calls),
                symbols(module.symbols),
                clean(&module.name),
                self.paint.of(Ink::Strong, mark),
            )?;
        }
        if shown < order.len() {
            let rest = &order[shown..];
            let calls = rest
                .iter()
                .map(|module| module.calls)
                .fold(0, u64::saturating_add);
            let (more, calls) = (
                plural(rest.len() as u64, "more module"),
                plural(calls, "call"),
            );
            writeln!(
                self.out,
                "    … and {more}, {calls} (--format json lists all)"
            )?;
        }
        Ok(())
    }

    fn skipped(&mut self, modules: &[&ModuleCoverage]) -> io::Result<()> {
        let mut reasons: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for module in modules {
            let reason = module.reason.as_deref().unwrap_or("no reason recorded");
            reasons.entry(reason).or_default().push(&module.name);
        }
        for (reason, names) in reasons {
            let names: Vec<&str> = names.into_iter().map(without_abi).collect();
            let text = format!("skipped, {}: {}", clean(reason), listed(&names));
            writeln!(self.out, "    {text}")?;
        }
        Ok(())
    }

    fn unwatched(&mut self, modules: &[&ModuleCoverage]) -> io::Result<()> {
        let mut functions: Vec<&str> = modules
            .iter()
            .flat_map(|module| &module.unwatched)
            .map(String::as_str)
            .collect();
        functions.sort_unstable();
        functions.dedup();
        if functions.is_empty() {
            return Ok(());
        }
        let text = listed(&functions);
        writeln!(
            self.out,
            "    not watched, since their addresses may be stored: {text}"
        )
    }
}

fn is_troubled(process: &ProcessCoverage) -> bool {
    !process.in_force || process.dropped > 0 || !process.damage.is_empty()
}

/// `_json.cpython-311-x86_64-linux-gnu.so` as Python calls it: `_json`.
fn without_abi(name: &str) -> &str {
    name.split_once(".cpython-").map_or(name, |(stem, _)| stem)
}

/// `a, b, c and 4 more`
fn listed(names: &[&str]) -> String {
    let shown = if names.len() <= NAMES + 1 {
        names.len()
    } else {
        NAMES
    };
    let mut text = names[..shown]
        .iter()
        .map(|name| clean(name))
        .collect::<Vec<_>>()
        .join(", ");
    if shown < names.len() {
        text += &format!(" and {} more", grouped((names.len() - shown) as u64));
    }
    text
}

fn releases(visibility: ReleaseVisibility) -> &'static str {
    match visibility {
        ReleaseVisibility::All => "all",
        ReleaseVisibility::LastOnly => "last only",
        ReleaseVisibility::LastAndShared => "last and shared",
        ReleaseVisibility::None => "none",
    }
}

fn symbols(quality: SymbolQuality) -> &'static str {
    match quality {
        SymbolQuality::Dwarf => "dwarf",
        SymbolQuality::Names => "names",
        SymbolQuality::None => "none",
        SymbolQuality::Unknown => "unknown",
    }
}
