use std::sync::Arc;
use std::time::Duration;

use forbear_core::gate::{Operator, Struck, Transition};
use forbear_core::partition::Partition;
use forbear_core::signal::{Class, Delay, Evidence, Reason, Scope, Signal};
use forbear_core::store::{CooldownEntry, CooldownKey, CooldownStore, Part, Pause};
use forbear_core::time::Monotonic;
use forbear_core::work::Stamp;
use http::StatusCode;

pub(super) type Store = Arc<dyn CooldownStore>;

pub(super) const SECOND: Duration = Duration::from_secs(1);

pub(super) fn at(seconds: u64) -> Stamp {
    Stamp::from_millis(1_800_000_000_000 + seconds * 1_000)
}

pub(super) fn key(family: &str) -> CooldownKey {
    CooldownKey { family: family.into(), automatic: false, part: None }
}

pub(super) fn part(family: &str, name: &str) -> CooldownKey {
    let of = Partition::of(name);
    CooldownKey { part: Some(Part { of, label: of.to_string().into() }), ..key(family) }
}

/// A cool-down of so many seconds of which so many remain, at level 2.
pub(super) fn entry(key: CooldownKey, age: (u32, u32), length: u64, remaining: u64) -> CooldownEntry {
    let transition = Transition {
        epoch: age.0,
        generation: age.1,
        level: 2,
        length: Duration::from_secs(length),
        remaining: Duration::from_secs(remaining),
        pace: None,
        struck: None,
        by: None,
        open: false,
        quiet: Duration::ZERO,
    };
    CooldownEntry { key, transition, pause: Pause::AsBefore }
}

/// One with every value set.
pub(super) fn full(key: CooldownKey) -> CooldownEntry {
    let mut signal = Signal::new(Class::Exhausted, StatusCode::TOO_MANY_REQUESTS)
        .reason(Reason::cleaned("täglich").expect("a reason"))
        .scope(Scope::Bucket);
    signal.delay = Some(Delay { duration: Duration::from_millis(3_600_001), absolute: true });
    signal.limit = Some("tokens".into());
    signal.not_executed = true;
    signal.evidence = Evidence { source: "x-ratelimit-reset".into(), value: "\"1 'x\\".into() };
    let struck = Struck { signal, route: "/v1/ö?".into(), at: Monotonic::ORIGIN };
    let mut entry = entry(key, (u32::MAX, 7), 3_601, 3_600);
    entry.transition.pace = Some(0.123_456_789);
    entry.transition.struck = Some(Arc::new(struck));
    entry.transition.by = Some(Operator::new("alice", "asked 'by' mail"));
    entry.transition.level = 7;
    entry
}

pub(super) async fn save(store: &Store, entries: Vec<CooldownEntry>, now: Stamp) -> Vec<CooldownEntry> {
    store.save(entries, now).await.expect("it is saved")
}

/// All that is known, by key.
pub(super) async fn load(store: &Store, now: Stamp) -> Vec<CooldownEntry> {
    let mut loaded = store.load(now).await.expect("it is loaded").entries;
    loaded.sort_by(|one, other| one.key.cmp(&other.key));
    loaded
}

/// The one that is known.
pub(super) async fn one(store: &Store, now: Stamp) -> CooldownEntry {
    let loaded = load(store, now).await;
    assert_eq!(loaded.len(), 1, "{loaded:?}");
    loaded.into_iter().next().expect("one")
}
