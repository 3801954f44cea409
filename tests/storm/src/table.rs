//! The table: every storm met by every contender, and whether forbear's layers reach what they must.

use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::catalogue::{Storm, Target, Told};
use crate::contender::Contender;
use crate::figures::{Figures, Outcome};

/// Where the table stands in a document.
const MARKERS: (&str, &str) = ("<!-- storm: begin -->", "<!-- storm: end -->");

/// One storm, and each contender's runs, in the order of [`Contender::ALL`].
pub struct Row {
    storm: Storm,
    runs: Vec<Vec<Outcome>>,
}

/// Has every run made by `run`, on `threads` threads: which of them makes it, and when, does not matter.
///
/// # Errors
/// The first failure of a run.
///
/// # Panics
/// When `run` panics.
pub fn measure(
    storms: Vec<Storm>,
    seeds: u64,
    threads: usize,
    run: impl Fn(&str, Contender, u64) -> Result<Outcome, String> + Sync,
) -> Result<Vec<Row>, String> {
    let jobs: Vec<(&str, Contender, u64)> = storms
        .iter()
        .flat_map(|storm| Contender::ALL.map(|contender| (storm.name, contender)))
        .flat_map(|(name, contender)| (1..=seeds).map(move |seed| (name, contender, seed)))
        .collect();
    let outcomes: Vec<Mutex<Option<Result<Outcome, String>>>> =
        jobs.iter().map(|_| Mutex::default()).collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                while let Some(((name, contender, seed), slot)) = take(&jobs, &outcomes, &next) {
                    let outcome = run(name, *contender, *seed);
                    *slot.lock().expect("nobody panics here") = Some(outcome);
                }
            });
        }
    });
    let outcomes: Result<Vec<Outcome>, String> = outcomes
        .into_iter()
        .map(|slot| slot.into_inner().ok().flatten().unwrap_or_else(|| Err("a run was left out".to_owned())))
        .collect();
    let outcomes = outcomes?;
    let per_storm = Contender::ALL.len() * usize::try_from(seeds).unwrap_or(usize::MAX);
    let runs = outcomes
        .chunks(per_storm)
        .map(|runs| runs.chunks(per_storm / Contender::ALL.len()).map(<[Outcome]>::to_vec).collect());
    Ok(storms.into_iter().zip(runs).map(|(storm, runs)| Row { storm, runs }).collect())
}

type Job<'a> = (&'a (&'a str, Contender, u64), &'a Mutex<Option<Result<Outcome, String>>>);

fn take<'a>(
    jobs: &'a [(&'a str, Contender, u64)],
    slots: &'a [Mutex<Option<Result<Outcome, String>>>],
    next: &AtomicUsize,
) -> Option<Job<'a>> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    jobs.get(index).zip(slots.get(index))
}

/// The table, in Markdown, and a line on those who touched the healthy host.
#[must_use]
pub fn markdown(rows: &[Row]) -> String {
    let mut table = String::from("| | scenario |");
    for contender in Contender::ALL {
        let _ = write!(table, " {} |", contender.title());
        if contender == Contender::Forbear {
            table.push_str(" target |");
        }
    }
    let _ = write!(table, "\n|---|---|{}\n", "---|".repeat(Contender::ALL.len() + 1));
    for row in rows {
        let _ = write!(table, "| {} | {} |", row.storm.name, row.storm.about);
        for (contender, runs) in Contender::ALL.into_iter().zip(&row.runs) {
            let _ = write!(table, " {} |", cell(row.storm.told, contender, runs));
            if contender == Contender::Forbear {
                let _ = write!(table, " {} |", target(row.storm.target));
            }
        }
        table.push('\n');
    }
    let _ = write!(table, "\nCalls to the healthy host that felt anything: {}.\n", touched(rows));
    table
}

fn cell(told: Told, contender: Contender, runs: &[Outcome]) -> String {
    let figures = Figures::of(runs);
    let Figures { limited, peak, longest, last, .. } = figures;
    let text = match (told, contender) {
        (Told::Served, Contender::Oracle) => {
            let median = |of: fn(&Outcome) -> usize| {
                let mut values: Vec<usize> = runs.iter().map(of).collect();
                values.sort_unstable();
                values.get(values.len() / 2).copied().unwrap_or_default()
            };
            format!("{} of {} / {limited} / {peak}", median(|run| run.served), median(|run| run.calls))
        }
        (Told::Served, _) => format!("{} / {limited} / {peak}", percent(figures.percent)),
        (Told::AllDone, _) => format!("{last:.2} s / {limited}"),
        (Told::Longest, _) => format!("{longest:.2} s / {limited}"),
    };
    if contender == Contender::Forbear { format!("**{text}**") } else { text }
}

/// Whole per cents, but tenths between 99 and 100.
fn percent(percent: f64) -> String {
    let tenths = (percent * 10.0).round() / 10.0;
    if tenths > 99.0 && tenths < 100.0 { format!("{tenths:.1}") } else { format!("{percent:.0}") }
}

fn target(target: Target) -> String {
    match target {
        Target::None => String::new(),
        Target::Bounds(bounds) => {
            format!("≥ {:.1} / ≤ {:.0} / ≤ {:.0}", bounds.served, bounds.limited.floor(), bounds.peak.floor())
        }
        Target::AllDone(seconds) => format!("≤ {seconds:.2} s"),
        Target::Longest(seconds) => format!("≤ {seconds:.2} s"),
    }
}

fn touched(rows: &[Row]) -> String {
    let worst = |index: usize| {
        let of = |row: &Row| row.runs.get(index).map_or(0.0, |runs| Figures::of(runs).touched);
        rows.iter().map(of).fold(0.0, f64::max)
    };
    let hurt: Vec<String> = Contender::ALL
        .into_iter()
        .enumerate()
        .map(|(index, contender)| (contender, worst(index)))
        .filter(|(_, worst)| *worst > 0.0)
        .map(|(contender, worst)| format!("{}, up to {worst:.0} %", contender.title()))
        .collect();
    if hurt.is_empty() { "none".to_owned() } else { hurt.join("; ") }
}

/// What forbear's layers do not reach, and where the oracle was wrong about its vendor; a line each.
#[must_use]
pub fn missed(rows: &[Row]) -> Vec<String> {
    let mut lines = Vec::new();
    for row in rows {
        let name = row.storm.name;
        for (contender, runs) in Contender::ALL.into_iter().zip(&row.runs) {
            let figures = Figures::of(runs);
            let missed = match (contender, row.storm.target) {
                (Contender::Oracle, _) => (runs.iter())
                    .filter(|run| run.limited > 0 || run.served != run.oracle)
                    .map(|run| format!("the oracle does not know the vendor: {run:?}"))
                    .collect(),
                (Contender::Forbear, Target::Bounds(bounds)) => bounds.missed(&figures),
                (Contender::Forbear, Target::AllDone(most)) => over("until all are done", figures.last, most),
                (Contender::Forbear, Target::Longest(most)) => over("for a call", figures.longest, most),
                _ => Vec::new(),
            };
            lines.extend(missed.into_iter().map(|missed| format!("{name}: {missed}")));
            if contender == Contender::Forbear && figures.touched > 0.0 {
                lines.push(format!("{name}: {} % of the healthy host's calls are touched", figures.touched));
            }
        }
    }
    lines
}

fn over(what: &str, seconds: f64, most: f64) -> Vec<String> {
    let line = || format!("{seconds:.3} s {what}, more than {most} s");
    (seconds > most).then(line).into_iter().collect()
}

/// `document` with `table` between its markers.
///
/// # Errors
/// When the markers are missing.
pub fn put_into(document: &str, table: &str) -> Result<String, String> {
    let (begin, end) = MARKERS;
    let parts = document.split_once(begin).and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    let (before, after) = parts.ok_or_else(|| format!("the document has no `{begin}` and `{end}`"))?;
    Ok(format!("{before}{begin}\n{table}{end}{after}"))
}
