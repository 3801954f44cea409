//! Families of hosts that nobody registered.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use hashbrown::HashMap;

use crate::dialect::Dialect;
use crate::gate::{Gate, GateSettings, Listeners};
use crate::time::Monotonic;

use super::seen::Seen;
use super::table::Member;

/// As many automatic families may exist; idle ones make room, and what finds none shares one family.
const MOST: usize = 10_000;
/// Idle ones are looked for at most so often: a look through ten thousand holds everybody up.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// The family of hosts that found no room.
const OVERFLOW: &str = "other";

/// Automatic families by host. A host has one only after it signalled a limit.
#[derive(Debug)]
pub(super) struct Automatic {
    by_host: RwLock<HashMap<Box<str>, Arc<Member>, foldhash::fast::RandomState>>,
    /// The hosts in the map, roughly: a host that is not among them needs no lock.
    seen: Seen,
    /// Idle ones are not looked for again before. Changes under the lock of the map.
    sweep_from: AtomicU64,
    overflow: Arc<Member>,
    overflows: AtomicU64,
    listeners: Arc<Listeners>,
}

fn member(name: &str, listeners: &Arc<Listeners>) -> Arc<Member> {
    let gate = Gate::heard(name, Arc::new(GateSettings::automatic()), Some(Arc::clone(listeners)));
    Arc::new(Member { gate, dialect: Dialect::standard(), automatic: true })
}

impl Automatic {
    /// None yet; the events of those to come are told to `listeners`.
    pub(super) fn new(listeners: &Arc<Listeners>) -> Self {
        Self {
            by_host: RwLock::default(),
            seen: Seen::default(),
            sweep_from: AtomicU64::new(0),
            overflow: member(OVERFLOW, listeners),
            overflows: AtomicU64::new(0),
            listeners: Arc::clone(listeners),
        }
    }

    /// The family of this name, where it has state; the shared one only where hosts are in it.
    pub(super) fn existing(&self, name: &str) -> Option<Arc<Member>> {
        let overflow = || (name == OVERFLOW && self.overflows() > 0).then(|| Arc::clone(&self.overflow));
        self.find(name).or_else(overflow)
    }

    /// The family of `host`, if it ever signalled a limit.
    pub(super) fn get(&self, host: &str) -> Option<Arc<Member>> {
        let found = self.seen.may_hold(host).then(|| self.find(host)).flatten();
        // While the overflow family is closed nobody can tell which hosts share it: all without one do. Once it is
        // open, a host that signals again is given a family of its own, if there is room by then.
        found.or_else(|| {
            (self.overflows() > 0 && !self.overflow.gate.is_open()).then(|| Arc::clone(&self.overflow))
        })
    }

    fn find(&self, host: &str) -> Option<Arc<Member>> {
        self.by_host.read().unwrap_or_else(PoisonError::into_inner).get(host).cloned()
    }

    /// The family of `host`, made where it has none. Where there are as many as allowed, idle ones make room; an
    /// active cool-down is never dropped: the host goes to the shared family instead, and is counted.
    pub(super) fn make(&self, host: &str, now: Monotonic) -> Arc<Member> {
        let mut by_host = self.by_host.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(member) = by_host.get(host) {
            return Arc::clone(member);
        }
        if by_host.len() >= MOST && now.as_nanos() >= self.sweep_from.load(Ordering::Relaxed) {
            self.sweep_from.store(now.after(SWEEP_EVERY).as_nanos(), Ordering::Relaxed);
            // One that somebody holds may be about to be struck.
            by_host.retain(|_, member| Arc::strong_count(member) > 1 || !member.gate.is_idle(now));
            self.seen.hold_only(by_host.keys());
        }
        if by_host.len() >= MOST {
            self.overflows.fetch_add(1, Ordering::Relaxed);
            return Arc::clone(&self.overflow);
        }
        let made = member(host, &self.listeners);
        by_host.insert(host.into(), Arc::clone(&made));
        self.seen.hold(host);
        made
    }

    /// The family of `host`, which is not automatic any more.
    pub(super) fn take(&self, host: &str) -> Option<Arc<Member>> {
        self.by_host.write().unwrap_or_else(PoisonError::into_inner).remove(host)
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
    use crate::gate::{Ask, Decision, Outcome};
    use crate::signal::{Class, Signal};
    use http::StatusCode;

    fn strike(member: &Member, now: Monotonic) {
        let signal =
            Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS).delay(Duration::from_secs(60));
        let ticket = member.gate.foreign(now);
        let _ = member.gate.observe(&ticket, Outcome::Bad(&signal, "/"), now);
    }

    // boinkor-net/governor#171, librefang/librefang#3668: bounded, and an active cool-down is never evicted in silence.
    #[test]
    fn idle_families_make_room_and_active_ones_overflow_into_a_shared_one() {
        let automatic = Automatic::new(&Arc::default());
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
        drop(newcomer);
        let now = now.after(SWEEP_EVERY);
        for host in 0..MOST {
            strike(&automatic.make(&format!("a{host}.example"), now), now);
        }
        assert_eq!(automatic.overflows(), 1);
        assert_eq!(&**automatic.make("late.example", now).gate.name(), OVERFLOW);
        assert!(Arc::ptr_eq(&automatic.get("active.example").unwrap(), &active));
    }

    #[test]
    fn hosts_leave_the_shared_family_when_it_is_open_and_there_is_room_again() {
        let automatic = Automatic::new(&Arc::default());
        let now = Monotonic::ORIGIN.after(Duration::from_secs(1));
        for host in 0..=MOST {
            strike(&automatic.make(&format!("h{host}.example"), now), now);
        }
        assert!(
            automatic.get("other.example").is_some(),
            "it shares the cool-down of the one that found no room"
        );
        let later = now.after(Duration::from_secs(3600));
        let probe = match automatic.overflow.gate.admit(&Ask::new(later), later).0 {
            Decision::Go(ticket) => ticket,
            Decision::Refuse(refusal) => panic!("{refusal:?}"),
        };
        let _ = automatic.overflow.gate.observe(&probe, Outcome::Good, later);
        for host in 0..MOST {
            let gate = &automatic.get(&format!("h{host}.example")).unwrap().gate;
            let (decision, _) = gate.admit(&Ask::new(later), later);
            let Decision::Go(ticket) = decision else { panic!("{decision:?}") };
            let _ = gate.observe(&ticket, Outcome::Good, later);
        }
        let later = later.after(Duration::from_secs(3600));
        let _ = automatic.overflow.gate.view(later);
        assert!(automatic.get("other.example").is_none());
        assert_eq!(&**automatic.make("other.example", later).gate.name(), "other.example");
    }

    #[test]
    fn hosts_that_are_never_called_again_make_room_once_their_level_is_down() {
        let automatic = Automatic::new(&Arc::default());
        let now = Monotonic::ORIGIN.after(Duration::from_secs(1));
        for host in 0..MOST {
            strike(&automatic.make(&format!("h{host}.example"), now), now);
        }
        let soon = now.after(Duration::from_secs(61));
        assert_eq!(&**automatic.make("soon.example", soon).gate.name(), OVERFLOW);
        let later = now.after(Duration::from_secs(600));
        assert_eq!(&**automatic.make("later.example", later).gate.name(), "later.example");
        assert_eq!((automatic.overflows(), automatic.by_host.read().unwrap().len()), (1, 1));
    }

    #[test]
    fn idle_families_are_not_looked_for_at_every_signal() {
        let automatic = Automatic::new(&Arc::default());
        let now = Monotonic::ORIGIN.after(Duration::from_secs(1));
        let held: Vec<_> = (0..MOST).map(|host| automatic.make(&format!("h{host}.example"), now)).collect();
        assert_eq!(&**automatic.make("new.example", now).gate.name(), OVERFLOW);
        drop(held);
        assert_eq!(&**automatic.make("new.example", now).gate.name(), OVERFLOW, "a moment ago none was idle");
        let later = now.after(SWEEP_EVERY);
        assert_eq!(&**automatic.make("new.example", later).gate.name(), "new.example");
    }

    #[test]
    fn a_family_that_somebody_is_about_to_strike_is_not_dropped() {
        let automatic = Automatic::new(&Arc::default());
        let now = Monotonic::ORIGIN.after(Duration::from_secs(1));
        let struck = automatic.make("struck.example", now);
        for host in 0..=MOST {
            let _ = automatic.make(&format!("h{host}.example"), now);
        }
        strike(&struck, now);
        assert!(Arc::ptr_eq(&automatic.get("struck.example").unwrap(), &struck));
    }

    #[test]
    fn a_host_that_never_signalled_waits_for_no_lock() {
        let automatic = Arc::new(Automatic::new(&Arc::default()));
        let now = Monotonic::ORIGIN.after(Duration::from_secs(1));
        strike(&automatic.make("struck.example", now), now);
        let locked = automatic.by_host.write().unwrap();
        let (found, ended) = std::sync::mpsc::channel();
        let looking = Arc::clone(&automatic);
        let _ = std::thread::spawn(move || {
            for host in 0..10 {
                let _ = found.send(looking.get(&format!("healthy{host}.example")).is_none());
            }
        });
        // With one family of 65,536 bits, ten in a row do not meet its bit.
        for _ in 0..10 {
            assert_eq!(ended.recv_timeout(Duration::from_secs(5)), Ok(true));
        }
        drop(locked);
    }
}
