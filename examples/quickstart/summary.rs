//! What the quickstart promises, and whether it came true.

use std::time::Duration;

use forbear_mock::Attempts;

use super::caller::Ended;
use super::{BUDGET, LONG, SHORT};

/// As good as at once, also on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(1);

/// What happened.
#[derive(Debug)]
pub struct Summary {
    /// All that the limited vendor saw.
    pub attempts: Attempts,
    /// The call that met the 429, and those that came while its family cooled and could wait.
    pub waited: Vec<Ended>,
    /// Those that came while the family cooled and could not, or would not, wait.
    pub refused: Vec<Ended>,
    /// Calls to the other family meanwhile.
    pub elsewhere: Vec<Ended>,
    /// The call whose vendor asked for more than its budget.
    pub too_long: Ended,
    /// A call to another route of the family after that.
    pub later: Ended,
    /// The time of the whole story.
    pub took: Duration,
}

impl Summary {
    /// How long the vendor was left alone after its first 429; `None` where it saw none, or nothing after it.
    #[must_use]
    pub fn silence(&self) -> Option<Duration> {
        let limited = self.attempts.iter().position(|attempt| attempt.status().is_some_and(|s| s == 429))?;
        let next = self.attempts.get(limited + 1)?;
        Some(next.at().duration_since(self.attempts[limited].at()))
    }

    /// What was promised and did not happen; empty where all is well.
    #[must_use]
    pub fn broken_promises(&self) -> Vec<&'static str> {
        let served = |calls: &[Ended]| calls.iter().all(|call| call.status == Some(200));
        let within = |ended: &Ended, most| ended.took <= most;
        let five_minutes = |ended: &Ended| {
            ended.retry_in.is_some_and(|left| left > LONG - Duration::from_secs(5) && left <= LONG)
        };
        let calls = || self.waited.iter().chain(&self.refused).chain(&self.elsewhere);
        [
            (
                self.silence().is_some_and(|silence| silence >= SHORT),
                "the family is quiet as long as its vendor asked",
            ),
            (served(&self.waited), "calls that can wait are served"),
            (
                self.refused.iter().all(|call| call.status.is_none() && within(call, AT_ONCE)),
                "calls that cannot wait are refused at once",
            ),
            (
                served(&self.elsewhere) && self.elsewhere.iter().all(|call| within(call, AT_ONCE)),
                "the other family goes on",
            ),
            (
                self.too_long.status == Some(429)
                    && within(&self.too_long, AT_ONCE)
                    && five_minutes(&self.too_long),
                "a wait that does not fit ends at once, with the vendor's answer and the full hint",
            ),
            (
                self.later.status.is_none() && within(&self.later, AT_ONCE) && five_minutes(&self.later),
                "what comes later honours what was told",
            ),
            (calls().all(|call| within(call, BUDGET)), "every call ends within its budget"),
        ]
        .into_iter()
        .filter_map(|(kept, promise)| (!kept).then_some(promise))
        .collect()
    }
}
