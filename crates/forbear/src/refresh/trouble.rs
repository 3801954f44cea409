//! A store that does not answer is asked again, and less and less often.

use std::time::Duration;

use forbear_core::store::StoreError;
use forbear_core::time::Monotonic;

use super::shared::Shared;

const FIRST: Duration = Duration::from_millis(250);
const LAST: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub(super) struct Trouble {
    met: u32,
    from: Monotonic,
}

impl Trouble {
    pub(super) const fn new() -> Self {
        Self { met: 0, from: Monotonic::ORIGIN }
    }

    pub(super) fn may_ask(&self, now: Monotonic) -> bool {
        now >= self.from
    }

    pub(super) fn is_met(&self) -> bool {
        self.met > 0
    }

    /// When it is asked again.
    pub(super) fn from(&self) -> Monotonic {
        self.from
    }

    pub(super) fn met(&mut self, error: &StoreError, shared: &Shared, now: Monotonic) {
        if self.met == 0 {
            let cause = error.fault().as_str();
            tracing::warn!(cause, %error, "refresh is degraded: its store does not do its work; it is asked again");
        }
        shared.failed(error);
        shared.live().fault = Some(error.fault());
        let wait = FIRST.saturating_mul(1_u32.checked_shl(self.met).unwrap_or(u32::MAX)).min(LAST);
        self.met = self.met.saturating_add(1);
        self.from = now.after(wait);
    }

    pub(super) fn is_over(&mut self, shared: &Shared) {
        if self.met > 0 {
            tracing::info!("the store of the refresh is back");
            shared.live().fault = None;
            self.met = 0;
        }
    }
}
