//! What an item's answer, or refusal, means for it.

use std::sync::Arc;
use std::time::Duration;

use forbear_core::budget::Budget as Limits;
use forbear_core::gate::{Gate, RefusalCause};
use forbear_core::pacing::PacingCause;
use forbear_core::retry::After;
use forbear_core::time::Monotonic;
use http::Response;

use super::ending::given_up;
use super::item::{Item, Known};
use super::outcome::{Done, Outcome};
use super::why::Why;
use crate::Error;
use crate::error::{Cooling, PacingRefused};
use crate::retry_after::{Limited, said};

/// The wait of an item that was refused although its turn had come; it doubles.
const FLOOR: Duration = Duration::from_millis(250);
const HIGHEST_FLOOR: Duration = Duration::from_secs(8);

/// What becomes of an item.
pub(super) enum Judged<T, R> {
    Ended(Known<T, R>),
    /// It is deferred, and what is held for its gate too: its vendor says that waiting does not help.
    EndedAll(Known<T, R>, Arc<Gate>, Why),
    /// It waits for a gate; the refusal that it answers was made then.
    AtGate(Item<T>, Arc<Gate>, Why, Option<Monotonic>),
    /// It waits for its own moment.
    Alone(Item<T>, Why),
}

/// What an item may wait for.
pub(super) struct Judge {
    pub(super) waits: bool,
    pub(super) budget: Limits,
    pub(super) now: Monotonic,
}

impl Judge {
    pub(super) fn landed<T, RB>(
        &self,
        item: Item<T>,
        answer: Result<Response<RB>, Error>,
    ) -> Judged<T, Response<RB>> {
        match answer {
            Ok(response) => match said(&response) {
                None => Judged::Ended(item.ends(|item| Outcome::Done(Done { item, response }))),
                Some(limited) => self.limited(item, &limited),
            },
            Err(Error::Cooling(cooling)) => self.refused(item, &cooling, true),
            Err(Error::Pacing(refused)) => self.not_paced(item, refused),
            Err(Error::BudgetExhausted(exhausted)) if exhausted.attempts() == 0 => {
                deferred(item, Why::exhausted(&exhausted))
            }
            Err(error) => Judged::Ended(item.ends(|item| Outcome::failed(item, error))),
        }
    }

    fn limited<T, R>(&self, mut item: Item<T>, limited: &Limited) -> Judged<T, R> {
        let Limited { said, retry_at, gate } = limited;
        let nature = item.nature;
        let after = item.history.after(said, nature.safe, &self.budget, *retry_at, self.now);
        let until = match after {
            After::Retry { until, .. } if self.waits && !nature.declares => until,
            _ => {
                let hint = said.delay.map(|delay| self.now.after(delay.duration));
                let repeats = nature.safe || said.not_executed;
                let why = Why::limited(limited, hint);
                let outcome = item.ends(|item| Outcome::deferred(item, why.clone(), true, repeats));
                return match gate {
                    Some(gate) if !said.retryable => Judged::EndedAll(outcome, Arc::clone(gate), why),
                    _ => Judged::Ended(outcome),
                };
            }
        };
        let why = Why::limited(limited, Some(until));
        match gate {
            // The gate knows its hint, and forgets it where an operator clears the family: those behind it need not wait for that.
            Some(gate) if retry_at.is_some() => {
                item.not_before = self.floor(&mut item);
                Judged::AtGate(item, Arc::clone(gate), why, None)
            }
            _ => {
                item.not_before = until;
                Judged::Alone(item, why)
            }
        }
    }

    /// Nothing was sent; `asked` where that was found out by sending.
    pub(super) fn refused<T, R>(&self, mut item: Item<T>, cooling: &Cooling, asked: bool) -> Judged<T, R> {
        let why = Why::refused(cooling);
        let until = cooling.known_retry_at();
        let final_word = cooling.signal().is_some_and(|signal| !signal.retryable);
        let known = until.filter(|_| cooling.cause() != RefusalCause::Probing);
        let fits = known.is_none_or(|until| item.history.wait_limit(&self.budget, self.now).fits(until));
        if !self.waits || final_word || !fits {
            return deferred(item, why);
        }
        if asked {
            item.not_before = self.floor(&mut item);
        }
        match (cooling.wait(), until) {
            (Some(wait), _) => Judged::AtGate(item, Arc::clone(&wait.gate), why, Some(wait.refused_at)),
            // Its URL alone is to be left in peace.
            (None, Some(until)) if cooling.cause() == RefusalCause::Cooling => {
                item.not_before = item.not_before.max(until);
                Judged::Alone(item, why)
            }
            _ => deferred(item, why),
        }
    }

    fn not_paced<T, R>(&self, mut item: Item<T>, refused: PacingRefused) -> Judged<T, R> {
        let why = Why::not_paced(&refused);
        match refused.cause() {
            PacingCause::Cost => {
                Judged::Ended(item.ends(|item| Outcome::failed(item, Error::Pacing(refused))))
            }
            PacingCause::QueueFull | PacingCause::NoQueue if self.waits => {
                // Never at once: the first refusal has no floor of its own.
                let floor = self.floor(&mut item).max(self.now.after(FLOOR));
                let until = refused.known_retry_at().map_or(floor, |at| at.max(floor));
                if item.history.wait_limit(&self.budget, self.now).fits(until) {
                    item.not_before = until;
                    return Judged::Alone(item, why);
                }
                deferred(item, why)
            }
            _ => deferred(item, why),
        }
    }

    /// Until when an item that was refused is not sent whatever its gate says: so that one whose turns are lost on the way, as in
    /// a service that drops extensions, does not ask without end.
    fn floor<T>(&self, item: &mut Item<T>) -> Monotonic {
        item.refusals = item.refusals.saturating_add(1);
        match item.refusals.checked_sub(2) {
            None => self.now,
            Some(before) => {
                let times = 1_u32.checked_shl(before).unwrap_or(u32::MAX);
                self.now.after(FLOOR.saturating_mul(times).min(HIGHEST_FLOOR))
            }
        }
    }
}

fn deferred<T, R>(item: Item<T>, why: Why) -> Judged<T, R> {
    Judged::Ended(given_up(item, why))
}
