//! What a client that knows the vendor could have served in time.

use std::collections::VecDeque;
use std::time::Duration;

use forbear_core::time::Monotonic;

use super::OUT;
use super::scenario::Scenario;

/// How often the oracle looks at the vendor.
const LOOK: Duration = Duration::from_millis(5);

/// Calls served in time, oldest first, each sent so as to arrive when the vendor is free. All budgets are equal, so
/// oldest first is also earliest deadline first: no order serves more.
pub(crate) fn oracle(scenario: &Scenario, entries: &[Monotonic]) -> usize {
    let mut vendor = (scenario.vendor)();
    let mut waiting = VecDeque::new();
    let mut entries = entries.iter().copied().peekable();
    let (mut served, mut now) = (0, super::START);
    while entries.peek().is_some() || !waiting.is_empty() {
        while let Some(entered) = entries.next_if(|entered| entered.after(OUT) <= now) {
            waiting.push_back(entered);
        }
        while let Some(entered) = waiting.front() {
            if now.after(scenario.back) >= entered.after(scenario.deadline) {
                waiting.pop_front();
            } else if vendor.free(now) {
                let _ = vendor.answer(now);
                waiting.pop_front();
                served += 1;
            } else {
                break;
            }
        }
        now = now.after(LOOK);
    }
    served
}
