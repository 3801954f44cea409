//! What a client that knows the vendor could have served in time.

use std::collections::VecDeque;
use std::time::Duration;

use forbear_core::time::Monotonic;

use crate::scenario::{Load, Scenario};
use crate::{OUT, START};

/// How often the oracle looks at the vendor.
pub const LOOK: Duration = Duration::from_millis(5);

/// How many calls are served in time.
#[must_use]
pub fn oracle(scenario: &Scenario, entries: &[Monotonic]) -> usize {
    schedule(scenario, entries).into_iter().flatten().count()
}

/// When the attempt of each call is to reach the vendor: oldest first, each as soon as the vendor is free. `None` where it
/// could not be served in time. All budgets are equal, so oldest first is also earliest deadline first: no order serves
/// more.
#[must_use]
pub fn schedule(scenario: &Scenario, entries: &[Monotonic]) -> Vec<Option<Monotonic>> {
    let mut vendor = (scenario.vendor)();
    let mut arrivals = vec![None; entries.len()];
    let mut waiting = VecDeque::new();
    let one_by_one = matches!(scenario.load, Load::OneByOne(_));
    let alive = |(call, _): &(usize, Monotonic)| !(scenario.dead && scenario.route(*call) == 0);
    let mut entries = entries.iter().copied().enumerate().filter(alive).peekable();
    // In a sweep the next call begins when the one before it is over.
    let mut free_from = START;
    let mut now = START;
    while entries.peek().is_some() || !waiting.is_empty() {
        while let Some(call) = entries.next_if(|(_, entered)| entered.after(OUT) <= now) {
            waiting.push_back(call);
        }
        while let Some((call, entered)) = waiting.front() {
            if now.after(scenario.back) >= entered.after(scenario.deadline) {
                waiting.pop_front();
            } else if now >= free_from && vendor.free(now) {
                let _ = vendor.answer(now);
                if let Some(arrival) = arrivals.get_mut(*call) {
                    *arrival = Some(now);
                }
                if one_by_one {
                    free_from = now.after(scenario.back + OUT);
                }
                waiting.pop_front();
            } else {
                break;
            }
        }
        now = now.after(LOOK);
    }
    arrivals
}
