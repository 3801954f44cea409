//! `forbear explain`: what a raw HTTP response says about limits.

mod body;
mod dialect;
mod dialect_file;
mod json;
mod list;
mod response;
mod text;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use forbear_core::dialect::{Dialect, Reading};
use http::header::{AGE, DATE, HeaderMap};
use jiff::fmt::rfc2822::DateTimeParser;

use crate::clock;
use crate::failure::Failure;
use crate::input;
use crate::shown::shown;
use body::Look;
use response::Response;

/// Say what a raw HTTP response says about limits.
///
/// Reads what `curl -si URL` prints. Of several responses, as `curl -siL URL` prints them, the last one counts.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 where the response was read, limited or not; 1 where it cannot be read; 2 for wrong \
                        arguments, an unknown dialect or a wrong dialect file."
)]
pub(crate) struct Args {
    /// How the vendor phrases its limits: a name that --list shows [default: generic-http]
    #[arg(long, value_name = "NAME", conflicts_with = "dialect_file")]
    dialect: Option<String>,

    /// A dialect of your own, in TOML
    #[arg(long, value_name = "PATH")]
    dialect_file: Option<PathBuf>,

    /// The time at which the response came, such as 2026-11-30T00:00:00Z, where it bears no Date [default: now]
    #[arg(long, value_name = "RFC3339")]
    now: Option<String>,

    /// Print one JSON object in one line
    #[arg(long)]
    json: bool,

    /// Print the names that --dialect knows, their hosts, and where that was read
    #[arg(long, conflicts_with_all = ["dialect", "dialect_file", "now", "json", "file"])]
    list: bool,

    /// The file that holds the response, or - for standard input
    #[arg(required_unless_present = "list")]
    file: Option<PathBuf>,
}

/// A response and what was read in it.
struct Explained<'a> {
    response: &'a Response,
    dialect: &'a str,
    reading: Reading,
    look: Look,
    /// When it came.
    now: SystemTime,
    /// What was left out, for people.
    notes: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let Some(file) = args.file.as_ref().filter(|_| !args.list) else {
        out.write_all(list::list().as_bytes())?;
        return Ok(out.flush()?);
    };
    let dialect = dialect::chosen(args.dialect.as_deref(), args.dialect_file.as_deref())?;
    let now = args.now.as_deref().map_or_else(|| Ok(clock::wall()), instant)?;
    let input = input::file_or_stdin(file).map_err(|error| {
        let file = file.display();
        Failure::Unreadable(format!(
            "cannot read `{file}`: {error}: give a file that holds what `curl -si URL` printed, or -"
        ))
    })?;
    let response = response::parse(&input.bytes).map_err(|error| Failure::Unreadable(error.to_string()))?;
    let mut explained = explain(&dialect, &response, now);
    if input.cut {
        explained
            .notes
            .push(format!("the input is longer than {} bytes, and the rest was left out", input::MAX));
    }
    if args.json {
        for note in &explained.notes {
            eprintln!("note: {}", shown(note));
        }
        writeln!(out, "{}", json::json(&explained.reading))?;
    } else {
        out.write_all(text::text(&explained).as_bytes())?;
    }
    Ok(out.flush()?)
}

/// What `forbear explain` prints of one response: for people, and for programs.
#[derive(Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// Without `--json`.
    pub text: String,
    /// With it; one line, without its end.
    pub json: String,
}

/// What `forbear explain` prints of `input`, received at `now`.
///
/// # Errors
/// Says why `input` is no response.
pub fn explanation(dialect: &Dialect, input: &[u8], now: SystemTime) -> Result<Explanation, String> {
    let response = response::parse(input).map_err(|error| error.to_string())?;
    let explained = explain(dialect, &response, now);
    Ok(Explanation { text: text::text(&explained), json: json::json(&explained.reading) })
}

fn explain<'a>(dialect: &'a Dialect, response: &'a Response, now: SystemTime) -> Explained<'a> {
    let (status, headers) = (response.status, &response.headers);
    let mut reading = dialect.read_head(status, headers, now);
    let mut notes = response.notes.clone();
    let look =
        if dialect.wants_body(&reading) { body::look(headers, &response.body) } else { Look::NotWanted };
    match &look {
        Look::At(body) => reading = dialect.read_body(status, headers, body, now),
        Look::Coded(codings) => notes.push(format!("the body was not looked at: content-encoding {codings}")),
        Look::NotWanted => {}
    }
    let now = came(headers).unwrap_or(now);
    Explained { response, dialect: dialect.name(), reading, look, now, notes }
}

/// When a response came, by the clock that its delays count from: its `Date`, and `Age` where it lay in a cache meanwhile.
fn came(headers: &HeaderMap) -> Option<SystemTime> {
    let date = headers.get(DATE)?.to_str().ok()?.trim();
    let date = DateTimeParser::new().parse_timestamp(date).ok()?;
    let age =
        headers.get(AGE).and_then(|age| age.to_str().ok()?.trim().parse().ok()).map(Duration::from_secs);
    SystemTime::try_from(date).ok()?.checked_add(age.unwrap_or_default())
}

fn instant(text: &str) -> Result<SystemTime, Failure> {
    let instant = text.parse::<jiff::Timestamp>().and_then(SystemTime::try_from);
    instant.map_err(|_| {
        Failure::Usage(format!(
            "--now is `{text}`, which is no RFC 3339 time: write it as 2026-11-30T00:00:00Z"
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_has_a_zone() {
        let seconds = |text| {
            let at = instant(text).ok()?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
            Some(at)
        };
        assert_eq!(seconds("2026-11-30T00:00:00Z"), Some(Duration::from_secs(1_795_996_800)));
        assert_eq!(seconds("2026-11-30T02:00:00.5+02:00"), Some(Duration::from_millis(1_795_996_800_500)));
        for wrong in ["", "soon", "2026-11-30", "2026-11-30T00:00:00", "2026-13-30T00:00:00Z", "1795996800"] {
            assert!(matches!(instant(wrong), Err(Failure::Usage(_))), "{wrong}");
        }
    }
}
