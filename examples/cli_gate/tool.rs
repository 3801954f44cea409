//! The vendor's command line tool. Here `sh` stands for it, and prints what such a tool prints.

use std::io;
use std::process::Output;
use std::time::Duration;

use forbear::{Class, Verdict, signal::Signal};
use tokio::process::Command;

/// What the tool exits with when its vendor says to come back later: `EX_TEMPFAIL` of `sysexits.h`.
const COME_BACK_LATER: i32 = 75;

/// It posts.
pub(super) const POSTS: &str = "echo posted";
/// Its vendor says that it is too much.
pub(super) const IS_LIMITED: &str = "echo 'error: rate limit reached, try again in 1s' >&2; exit 75";
/// It never comes back.
pub(super) const HANGS: &str = "exec sleep 60";

/// Runs the tool. A child process outlives its future unless this says otherwise, and then it would go on calling the
/// vendor after its caller's deadline.
pub(super) async fn social(script: &'static str) -> io::Result<Output> {
    Command::new("sh").args(["-c", script]).kill_on_drop(true).output().await
}

/// What the tool says about its vendor. A tool that is not there, wrong arguments, or no network say nothing about it.
pub(super) fn classify(result: &io::Result<Output>) -> Verdict {
    match result {
        Ok(output) if output.status.success() => Verdict::Good,
        Ok(output) if output.status.code() == Some(COME_BACK_LATER) => {
            let limited = Signal::without_status(Class::Throttled).reason("rate_limit");
            match retry_in(&String::from_utf8_lossy(&output.stderr)) {
                Some(delay) => limited.delay(delay).into(),
                // Then the family's ladder says how long.
                None => limited.into(),
            }
        }
        _ => Verdict::Neutral,
    }
}

/// The seconds in `try again in 5s`.
pub fn retry_in(said: &str) -> Option<Duration> {
    let (_, after) = said.split_once("try again in ")?;
    let (seconds, _) = after.split_once('s')?;
    seconds.parse().ok().map(Duration::from_secs)
}
