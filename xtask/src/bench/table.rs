//! The table, in Markdown.

use std::fmt::Write;
use std::process::Command;

use super::measure::Sample;
use super::statistics::{median, spread};

/// A row that was measured.
pub struct Line {
    title: &'static str,
    /// Seconds, and half the distance of the quartiles as a share of it.
    bare: (f64, f64),
    refsan: f64,
    /// By processor time.
    refsan_processor: Option<f64>,
    development_mode: f64,
    valgrind: Option<f64>,
    /// Seconds that refsan adds before and after the work.
    around: f64,
    /// Calls that refsan watched, each run.
    calls: f64,
}

impl Line {
    /// `long`: rounds of bare, refsan and development mode. `short`: rounds of bare and valgrind.
    pub fn new(title: &'static str, long: &[Vec<Sample>], short: &[Vec<Sample>]) -> Self {
        let [bare, refsan, development_mode, valgrind] = [0, 1, 2, 1];
        let wall = |rounds: &[Vec<Sample>], way: usize| {
            median(rounds.iter().map(|round| round[way].wall / round[0].wall))
        };
        let processor = long.iter().map(|round| {
            round[refsan]
                .processor
                .zip(round[bare].processor)
                .map(|(one, other)| one / other)
        });
        let processor: Option<Vec<f64>> = processor.collect();
        let whole = |sample: Sample| {
            sample.outside
                + if sample.processor.is_none() {
                    sample.wall
                } else {
                    0.0
                }
        };
        Line {
            title,
            bare: (
                median(long.iter().map(|round| round[bare].wall)),
                spread(long.iter().map(|round| round[bare].wall)),
            ),
            refsan: wall(long, refsan),
            refsan_processor: processor.map(median),
            development_mode: wall(long, development_mode),
            valgrind: (!short.is_empty()).then(|| wall(short, valgrind)),
            around: median(
                long.iter()
                    .map(|round| whole(round[refsan]) - whole(round[bare])),
            ),
            calls: median(
                long.iter()
                    .filter_map(|round| round[refsan].calls)
                    .map(|calls| calls as f64),
            ),
        }
    }
}

/// The table, with the date, the command and what the machine was busy with.
pub fn render(lines: &[Line], rounds: u32) -> String {
    let mut text = String::from(
        "| work | bare | refsan | refsan, processor time | `-X dev` | valgrind | refsan around the work | watched calls |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    let ratio = |value: Option<f64>| {
        value.map_or_else(
            || "–".to_owned(),
            |value| match value {
                value if value < 10.0 => format!("{value:.2}x"),
                value => format!("{value:.0}x"),
            },
        )
    };
    for line in lines {
        let (seconds, spread) = line.bare;
        let bare = if seconds < 0.5 {
            format!("{:.0} ms", seconds * 1e3)
        } else {
            format!("{seconds:.2} s")
        };
        let calls = line.calls;
        let calls = match calls {
            calls if calls < 1e4 => format!("{calls:.0}"),
            calls if calls < 1e6 => format!("{:.0} thousand", calls / 1e3),
            calls => format!("{:.1} million", calls / 1e6),
        };
        let _ = writeln!(
            text,
            "| {} | {bare} ± {:.0} % | {} | {} | {} | {} | {:+.0} ms | {calls} |",
            line.title,
            spread * 1e2,
            ratio(Some(line.refsan)),
            ratio(line.refsan_processor),
            ratio(Some(line.development_mode)),
            ratio(line.valgrind),
            line.around * 1e3,
        );
    }
    let date = said(Command::new("date").args(["-u", "+%Y-%m-%d"]));
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: Vec<&str> = load.split_whitespace().take(3).collect();
    let processor = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = processor
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("unknown processor", |rest| {
            rest.trim_start_matches([':', ' ', '\t'])
        });
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let _ = writeln!(
        text,
        "\nMeasured on {date} with `cargo xtask {}` ({model}; load at the end {}): medians of the ratios of \
         {rounds} interleaved rounds (three times as many for start-up, three for valgrind, which does \
         a shorter run of the same work and is compared with a bare run of that length). The time of \
         the work is taken inside the program; what refsan adds before and after it, its report \
         included, stands by itself.",
        arguments.join(" "),
        load.join(" "),
    );
    text
}

fn said(command: &mut Command) -> String {
    let output = command
        .output()
        .map(|output| output.stdout)
        .unwrap_or_default();
    String::from_utf8_lossy(&output).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(wall: f64, calls: Option<u64>) -> Sample {
        Sample {
            wall,
            processor: Some(wall),
            outside: 0.1,
            calls,
        }
    }

    #[test]
    fn ratios_are_taken_round_by_round() {
        // The machine was twice as slow in the second round, for all alike.
        let round = |slow: f64| {
            vec![
                sample(slow, None),
                sample(slow * 1.5, Some(2_500_000)),
                sample(slow * 3.0, None),
            ]
        };
        let short = vec![vec![sample(0.1, None), sample(3.0, None)]];
        let line = Line::new("work", &[round(1.0), round(2.0), round(1.0)], &short);
        let text = render(&[line], 3);
        let row = text.lines().nth(2).unwrap();
        assert!(row.contains("| work | 1.00 s"), "{row}");
        assert!(
            row.contains("| 1.50x | 1.50x | 3.00x | 30x | +0 ms | 2.5 million |"),
            "{row}"
        );
    }
}
