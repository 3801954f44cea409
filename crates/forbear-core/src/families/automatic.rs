//! Families of hosts that nobody registered.

use std::sync::Arc;

use crate::bounded::{Bounded, Rests};
use crate::dialect::Dialect;
use crate::gate::{Gate, Listeners};
use crate::time::Monotonic;

use super::table::Member;

/// The family of hosts that found no room.
const OVERFLOW: &str = "other";

/// Automatic families by host. A host has one only after it signalled a limit.
#[derive(Debug)]
pub(super) struct Automatic {
    hosts: Bounded<Box<str>, Member>,
    listeners: Arc<Listeners>,
}

impl Rests for Member {
    fn is_idle(&self, now: Monotonic) -> bool {
        self.gate.is_idle(now)
    }

    fn is_open(&self) -> bool {
        self.gate.is_open()
    }
}

fn member(name: &str, shared: bool, listeners: &Arc<Listeners>) -> Arc<Member> {
    let gate = Gate::automatic(name, shared, listeners);
    Arc::new(Member {
        gate,
        dialect: Dialect::standard(),
        stale: None,
        partition_header: None,
        per_partition: false,
        automatic: true,
    })
}

impl Automatic {
    /// None yet; the events of those to come are told to `listeners`.
    pub(super) fn new(listeners: &Arc<Listeners>) -> Self {
        Self { hosts: Bounded::new(member(OVERFLOW, true, listeners)), listeners: Arc::clone(listeners) }
    }

    /// The family of this name, where it has state; the shared one only where hosts are in it.
    pub(super) fn existing(&self, name: &str) -> Option<Arc<Member>> {
        let overflow = || self.hosts.overflow().filter(|_| name == OVERFLOW);
        self.hosts.find(name).or_else(overflow)
    }

    /// The family of `host`, if it ever signalled a limit.
    pub(super) fn get(&self, host: &str) -> Option<Arc<Member>> {
        self.hosts.get(host)
    }

    /// The family of `host`, made where it has none. Where there are as many as allowed, idle ones make room; an
    /// active cool-down is never dropped: the host goes to the shared family instead, and is counted.
    pub(super) fn make(&self, host: &str, now: Monotonic) -> Arc<Member> {
        self.hosts.make(host, now, || member(host, false, &self.listeners))
    }

    /// The family of `host`, which is not automatic any more.
    pub(super) fn take(&self, host: &str) -> Option<Arc<Member>> {
        self.hosts.take(host)
    }

    /// Those of one host each.
    pub(super) fn of_hosts(&self) -> Vec<Arc<Member>> {
        self.hosts.own()
    }

    pub(super) fn members(&self) -> Vec<Arc<Member>> {
        self.hosts.all()
    }

    pub(super) fn overflows(&self) -> u64 {
        self.hosts.overflows()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::bounded::{MOST, SWEEP_EVERY};
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
        assert!(automatic.existing(OVERFLOW).is_some());
        assert!(automatic.existing("other.example").is_none(), "it has no family of its name");
        let later = now.after(Duration::from_secs(3600));
        let probe = match automatic.hosts.overflow().unwrap().gate.admit(&Ask::new(later), later).0 {
            Decision::Go(ticket) => ticket,
            Decision::Refuse(refusal) => panic!("{refusal:?}"),
        };
        let _ = automatic.hosts.overflow().unwrap().gate.observe(&probe, Outcome::Good, later);
        for host in 0..MOST {
            let gate = &automatic.get(&format!("h{host}.example")).unwrap().gate;
            let (decision, _) = gate.admit(&Ask::new(later), later);
            let Decision::Go(ticket) = decision else { panic!("{decision:?}") };
            let _ = gate.observe(&ticket, Outcome::Good, later);
        }
        let later = later.after(Duration::from_secs(3600));
        let _ = automatic.hosts.overflow().unwrap().gate.view(later);
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
        assert_eq!((automatic.overflows(), automatic.hosts.by_key.read().unwrap().len()), (1, 1));
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
        let locked = automatic.hosts.by_key.write().unwrap();
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
