//! Families of hosts that nobody registered.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use hashbrown::HashMap;

use crate::dialect::Dialect;
use crate::gate::{Gate, GateSettings};
use crate::time::Monotonic;

use super::table::Member;

/// As many automatic families may exist; idle ones make room, and what finds none shares one family.
const MOST: usize = 10_000;
/// The family of hosts that found no room.
const OVERFLOW: &str = "other";

/// Automatic families by host. A host has one only after it signalled a limit.
#[derive(Debug)]
pub(super) struct Automatic {
    by_host: RwLock<HashMap<Box<str>, Arc<Member>, foldhash::fast::RandomState>>,
    /// How many there are: while it is zero, nobody looks further.
    count: AtomicUsize,
    overflow: Arc<Member>,
    overflows: AtomicU64,
}

impl Default for Automatic {
    fn default() -> Self {
        Self {
            by_host: RwLock::default(),
            count: AtomicUsize::new(0),
            overflow: member(OVERFLOW),
            overflows: AtomicU64::new(0),
        }
    }
}

fn member(name: &str) -> Arc<Member> {
    let gate = Gate::new(name, Arc::new(GateSettings::automatic()));
    Arc::new(Member { gate, dialect: Dialect::standard(), automatic: true })
}

impl Automatic {
    /// The family of `host`, if it ever signalled a limit.
    pub(super) fn get(&self, host: &str) -> Option<Arc<Member>> {
        if self.count.load(Ordering::Acquire) == 0 {
            return None;
        }
        let found = self.by_host.read().unwrap_or_else(PoisonError::into_inner).get(host).cloned();
        // Once a host shares the overflow family, nobody can tell any more which ones do: all without one share it.
        found.or_else(|| (self.overflows() > 0).then(|| Arc::clone(&self.overflow)))
    }

    /// The family of `host`, made where it has none. Where there are as many as allowed, idle ones make room; an
    /// active cool-down is never dropped: the host goes to the shared family instead, and is counted.
    pub(super) fn make(&self, host: &str, now: Monotonic) -> Arc<Member> {
        let mut by_host = self.by_host.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(member) = by_host.get(host) {
            return Arc::clone(member);
        }
        if by_host.len() >= MOST {
            by_host.retain(|_, member| !member.gate.is_idle(now));
        }
        if by_host.len() >= MOST {
            self.overflows.fetch_add(1, Ordering::Relaxed);
            return Arc::clone(&self.overflow);
        }
        let made = member(host);
        by_host.insert(host.into(), Arc::clone(&made));
        self.count.store(by_host.len(), Ordering::Release);
        made
    }

    pub(super) fn members(&self) -> Vec<Arc<Member>> {
        let by_host = self.by_host.read().unwrap_or_else(PoisonError::into_inner);
        let overflow = (self.overflows() > 0).then(|| Arc::clone(&self.overflow));
        by_host.values().cloned().chain(overflow).collect()
    }

    pub(super) fn overflows(&self) -> u64 {
        self.overflows.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Outcome;
    use crate::signal::{Class, Signal};
    use http::StatusCode;
    use std::time::Duration;

    fn strike(member: &Member, now: Monotonic) {
        let signal =
            Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS).delay(Duration::from_secs(60));
        let ticket = member.gate.foreign(now);
        let _ = member.gate.observe(&ticket, Outcome::Bad(&signal, "/"), now);
    }

    // boinkor-net/governor#171, librefang/librefang#3668: bounded, and an active cool-down is never evicted in silence.
    #[test]
    fn idle_families_make_room_and_active_ones_overflow_into_a_shared_one() {
        let automatic = Automatic::default();
        let now = Monotonic::ORIGIN.after(Duration::from_secs(1));
        let active = automatic.make("active.example", now);
        strike(&active, now);
        for host in 1..MOST {
            let _ = automatic.make(&format!("h{host}.example"), now);
        }
        let newcomer = automatic.make("newcomer.example", now);
        assert_eq!(&**newcomer.gate.name(), "newcomer.example");
        assert!(Arc::ptr_eq(&automatic.get("active.example").unwrap(), &active));
        assert_eq!(automatic.members().len(), 2);
        for host in 0..MOST {
            strike(&automatic.make(&format!("a{host}.example"), now), now);
        }
        assert_eq!(automatic.overflows(), 1);
        assert_eq!(&**automatic.make("late.example", now).gate.name(), OVERFLOW);
        assert!(Arc::ptr_eq(&automatic.get("active.example").unwrap(), &active));
    }
}
