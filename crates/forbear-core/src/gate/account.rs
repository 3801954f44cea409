//! What the gates of a family did, those among them that are gone.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError};

use crate::stale::{StaleCounts, StaleTotals};
use crate::sync::{Mutex, MutexGuard};

use super::engine::{GATES, Gate};
use super::totals::Totals;

/// What all gates of one family did, and of those that are gone. Automatic families share one.
#[derive(Debug, Default)]
pub(super) struct Account {
    sums: Mutex<Sums>,
    /// What is counted of its stored answers, once anything is.
    stale: OnceLock<Arc<StaleCounts>>,
}

#[derive(Debug, Default)]
struct Sums {
    /// Of gates that are gone.
    gone: Totals,
    /// What was told last: a gate that is just going is in neither sum for a moment. Whoever was told it goes on asking
    /// for it.
    told: Option<Totals>,
}

/// The accounts of a set of families.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    named: Mutex<HashMap<Arc<str>, Arc<Account>>>,
    automatic: Arc<Account>,
}

impl Accounts {
    /// That of the registered family `name`; the one it had before, where it was removed in the meantime.
    pub(super) fn of(&self, name: &Arc<str>) -> Arc<Account> {
        Arc::clone(self.named().entry(Arc::clone(name)).or_default())
    }

    /// That of all automatic families.
    pub(super) fn automatic(&self) -> Arc<Account> {
        Arc::clone(&self.automatic)
    }

    /// What is counted of the answers of all automatic families.
    pub(super) fn stale_of_others(&self) -> &Arc<StaleCounts> {
        self.automatic.stale()
    }

    fn named(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<Account>>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What every family did, in no order; `None` names the automatic ones. Never less than before.
    pub(super) fn totals(&self) -> Vec<(Option<Arc<str>>, Totals)> {
        let mut named = self.named();
        named.retain(|_, account| {
            Arc::strong_count(account) > 1 || account.stale.get().is_some() || account.sums().is_kept()
        });
        let mut accounts: Vec<_> =
            named.iter().map(|(name, account)| (Some(Arc::clone(name)), Arc::clone(account))).collect();
        drop(named);
        accounts.push((None, self.automatic()));
        // Before the living are looked at: one that goes in between is missed, not counted twice.
        let mut sums: HashMap<_, _> =
            accounts.iter().map(|(_, account)| (Arc::as_ptr(account), account.sums().gone)).collect();
        for gate in GATES.all() {
            if let Some(sum) = gate.account().and_then(|account| sums.get_mut(&Arc::as_ptr(account))) {
                *sum = sum.and(&gate.totals());
            }
        }
        let told = |(name, account): (_, Arc<Account>)| {
            let sum = sums.get(&Arc::as_ptr(&account)).copied().unwrap_or_default();
            let mut told = account.sums().tell(&sum);
            told.stale = account.stale_totals();
            (name, told)
        };
        accounts.into_iter().map(told).collect()
    }
}

impl Sums {
    fn is_kept(&self) -> bool {
        self.told.is_some() || self.gone != Totals::default()
    }

    /// `sum`, never less than before.
    fn tell(&mut self, sum: &Totals) -> Totals {
        *self.told.insert(self.told.unwrap_or_default().or(sum))
    }
}

impl Account {
    /// What is counted of its stored answers.
    #[inline]
    pub(super) fn stale(&self) -> &Arc<StaleCounts> {
        self.stale.get_or_init(Arc::default)
    }

    /// The same, where anything was.
    pub(super) fn stale_totals(&self) -> Option<StaleTotals> {
        self.stale.get().map(|counts| counts.totals())
    }

    fn sums(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes over what a gate did that is going.
    pub(super) fn close(&self, gate: &Gate) {
        let totals = gate.totals();
        let mut sums = self.sums();
        sums.gone = sums.gone.and(&totals);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use http::{StatusCode, Uri};

    use super::*;
    use crate::families::{Families, Family};
    use crate::gate::{Ask, Decision, Outcome};
    use crate::signal::{Class, Signal};
    use crate::time::Monotonic;

    fn at(seconds: u64) -> Monotonic {
        Monotonic::ORIGIN.after(Duration::from_secs(seconds))
    }

    /// An attempt that is limited, and one that is refused.
    fn strike(gate: &Gate, seconds: u64) {
        let (Decision::Go(ticket), _) = gate.admit(&Ask::new(at(seconds)), at(seconds)) else { panic!() };
        let signal =
            Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS).delay(Duration::from_secs(1));
        let _ = gate.observe(&ticket, Outcome::Bad(&signal, "/"), at(seconds));
        let _ = gate.admit(&Ask::new(at(seconds)), at(seconds));
    }

    fn told(families: &Families, name: Option<&str>) -> Option<(u64, (u64, u64, u64))> {
        let totals = families.listeners().totals();
        let found = totals.iter().find(|(known, _)| known.as_deref() == name);
        found.map(|(_, totals)| (totals.attempts, totals.sums()))
    }

    #[test]
    fn what_a_removed_family_did_is_kept_and_goes_on_when_it_comes_back() {
        let family = || Family::new("vendor").host("vendor.example");
        let families = Families::builder().family(family()).build().unwrap();
        strike(&families.named("vendor").unwrap().gate, 1);
        assert_eq!(told(&families, Some("vendor")), Some((1, (1, 1, 1))));
        let held = families.named("vendor").unwrap();
        families.remove("vendor", at(3600)).unwrap();
        // Removed, and still in the hands of a caller.
        strike(&held.gate, 3600);
        assert_eq!(told(&families, Some("vendor")), Some((2, (2, 2, 2))));
        drop(held);
        assert_eq!(told(&families, Some("vendor")), Some((2, (2, 2, 2))));
        families.register(family(), at(3601)).unwrap();
        strike(&families.named("vendor").unwrap().gate, 3601);
        assert_eq!(told(&families, Some("vendor")), Some((3, (3, 3, 3))));
    }

    #[test]
    fn automatic_families_that_come_and_go_are_counted_together() {
        let families = Families::builder().build().unwrap();
        for hour in 1..=3 {
            for host in ["a", "b"] {
                let uri: Uri = format!("http://{host}.example").parse().unwrap();
                strike(&families.id().member_for(&uri, at(hour * 3600)).unwrap().gate, hour * 3600);
            }
            assert_eq!(told(&families, None), Some((2 * hour, (2 * hour, 2 * hour, 2 * hour))));
            for host in ["a.example", "b.example"] {
                // To a registered family and away again: the automatic one is dropped.
                families.register(Family::new(host).host(host), at(hour * 3600 + 1)).unwrap();
                families.remove(host, at(hour * 3600 + 1800)).unwrap();
            }
        }
        assert!(families.members().is_empty(), "{:?}", families.members());
        assert_eq!(told(&families, None), Some((6, (6, 6, 6))));
        assert_eq!(told(&families, Some("a.example")), None);
    }

    #[test]
    fn two_sets_of_families_do_not_share_accounts() {
        let sets = [1, 2].map(|_| Families::builder().family(Family::new("vendor")).build().unwrap());
        strike(&sets[0].named("vendor").unwrap().gate, 1);
        assert_eq!(told(&sets[0], Some("vendor")), Some((1, (1, 1, 1))));
        assert_eq!(told(&sets[1], Some("vendor")), Some((0, (0, 0, 0))));
    }

    #[test]
    fn a_family_that_could_not_be_registered_leaves_nothing() {
        let families = Families::builder().family(Family::new("a").host("a.example")).build().unwrap();
        assert!(families.set([Family::new("b"), Family::new("c").host("not a host")], at(1)).is_err());
        assert_eq!(told(&families, Some("b")), None);
        assert_eq!(told(&families, Some("a")), Some((0, (0, 0, 0))));
    }
}
