use std::sync::Arc;
use std::time::Duration;

use forbear_core::gate::{Operator, Transition};
use forbear_core::store::{CooldownEntry, CooldownKey, Pause};
use forbear_core::work::Stamp;

use super::entries::{SECOND, Store, at, entry, full, key, load, one, part, save};

fn age(entry: &CooldownEntry) -> (u32, u32) {
    (entry.transition.epoch, entry.transition.generation)
}

fn remaining(entry: &CooldownEntry) -> u64 {
    entry.transition.remaining.as_secs()
}

/// Nothing of what is saved is changed by the way, or lost.
pub async fn every_value_survives(store: Store) {
    let entries = vec![full(key("a")), full(part("a", "credential")), entry(key("b"), (0, 1), 60, 60)];
    assert_eq!(save(&store, entries.clone(), at(0)).await, []);
    let loaded = load(&store, at(0)).await;
    assert_eq!(loaded, entries);
    let label = |entry: &CooldownEntry| entry.key.part.as_ref().map(|part| part.label.clone());
    assert_eq!(loaded.iter().map(label).collect::<Vec<_>>(), entries.iter().map(label).collect::<Vec<_>>());
}

/// What remains is what the deadline is away, never more than the whole length, whatever the clock says.
pub async fn only_time_that_remains_travels(store: Store) {
    let _ = save(&store, vec![entry(key("a"), (0, 1), 3_600, 3_600)], at(0)).await;
    assert_eq!(remaining(&one(&store, at(1_200)).await), 2_400);
    let set_back = Stamp::from_millis(1_000);
    assert_eq!(remaining(&one(&store, set_back).await), 3_600);
}

/// Within an epoch.
pub async fn a_newer_generation_replaces_an_older_one(store: Store) {
    let _ = save(&store, vec![entry(key("a"), (0, 1), 60, 60)], at(0)).await;
    let mut newer = entry(key("a"), (0, 4), 30, 90);
    newer.transition.level = 5;
    newer.transition.length = 90 * SECOND;
    assert_eq!(save(&store, vec![newer.clone()], at(1)).await, []);
    assert_eq!(one(&store, at(1)).await, newer);
}

/// Who gives it is told what is known.
pub async fn an_older_generation_moves_the_deadline_and_nothing_else(store: Store) {
    let mut known = entry(key("a"), (0, 5), 60, 60);
    known.transition.level = 6;
    let _ = save(&store, vec![known], at(0)).await;
    let told = save(&store, vec![entry(key("a"), (0, 2), 600, 600)], at(0)).await;
    assert_eq!(
        (told.len(), age(&told[0]), remaining(&told[0]), told[0].transition.level),
        (1, (0, 5), 600, 6)
    );
    assert_eq!(one(&store, at(0)).await, told[0]);
}

/// It may only move the deadline of a cool-down that runs.
pub async fn an_older_generation_closes_nothing(store: Store) {
    let mut open = entry(key("a"), (0, 5), 60, 0);
    open.transition.open = true;
    let _ = save(&store, vec![open], at(0)).await;
    let told = save(&store, vec![entry(key("a"), (0, 2), 600, 600)], at(0)).await;
    assert_eq!((age(&told[0]), remaining(&told[0]), told[0].transition.open), ((0, 5), 0, true));
    assert!(one(&store, at(0)).await.transition.open);
}

/// An operator cleared it: nothing of the older epoch holds, and a lower one changes nothing.
pub async fn a_higher_epoch_replaces_the_whole(store: Store) {
    let _ = save(&store, vec![entry(key("a"), (0, 9), 3_600, 3_600)], at(0)).await;
    assert_eq!(save(&store, vec![entry(key("a"), (1, 2), 20, 10)], at(0)).await, []);
    let told = save(&store, vec![entry(key("a"), (0, 10), 900, 900)], at(0)).await;
    assert_eq!((age(&told[0]), remaining(&told[0])), ((1, 2), 10));
    assert_eq!(age(&one(&store, at(0)).await), (1, 2));
}

/// Two processes were struck at the same time.
pub async fn within_a_generation_the_later_deadline_stands(store: Store) {
    let _ = save(&store, vec![entry(key("a"), (0, 1), 600, 600)], at(0)).await;
    let told = save(&store, vec![entry(key("a"), (0, 1), 60, 60)], at(1)).await;
    assert_eq!(told.iter().map(remaining).collect::<Vec<_>>(), [599]);
    assert_eq!(save(&store, vec![entry(key("a"), (0, 1), 900, 900)], at(1)).await, []);
    assert_eq!(remaining(&one(&store, at(1)).await), 900);
}

/// The same name may be a registered family and a host, and a family has parts.
pub async fn parts_and_hosts_are_apart(store: Store) {
    let host = CooldownKey { automatic: true, ..key("a") };
    let keys = [
        key("a"),
        part("a", "x"),
        part("a", "y"),
        host.clone(),
        CooldownKey { automatic: true, ..part("a", "x") },
    ];
    let mut expected = Vec::new();
    for (at, key) in keys.into_iter().enumerate() {
        expected.push(entry(key, (0, 1), 60 + at as u64, 60 + at as u64));
    }
    assert_eq!(save(&store, expected.clone(), at(0)).await, []);
    expected.sort_by(|one, other| one.key.cmp(&other.key));
    assert_eq!(load(&store, at(0)).await, expected);
}

/// [`Pause::AsBefore`] leaves it as it is, also with an entry that is older.
pub async fn a_pause_is_kept_by_who_did_not_end_it(store: Store) {
    let on = Pause::On { by: Operator::new("alice", "contract ended"), since: 5 * SECOND };
    let mut paused = entry(key("a"), (0, 3), 60, 60);
    paused.pause = on;
    let _ = save(&store, vec![paused], at(5)).await;
    let _ = save(&store, vec![entry(key("a"), (0, 4), 60, 60), entry(key("b"), (0, 1), 60, 60)], at(5)).await;
    let _ = save(&store, vec![entry(key("a"), (0, 1), 60, 60)], at(5)).await;
    let loaded = load(&store, at(10)).await;
    let kept = Pause::On { by: Operator::new("alice", "contract ended"), since: 10 * SECOND };
    assert_eq!((&loaded[0].pause, &loaded[1].pause), (&kept, &Pause::AsBefore));
    let mut resumed = entry(key("a"), (0, 1), 60, 60);
    resumed.pause = Pause::Off;
    let _ = save(&store, vec![resumed], at(11)).await;
    assert_eq!(load(&store, at(11)).await[0].pause, Pause::AsBefore);
}

/// Once its level is down; a pause says something for ever.
pub async fn what_says_nothing_is_forgotten(store: Store) {
    let mut paused = entry(key("paused"), (0, 1), 60, 60);
    paused.pause = Pause::On { by: Operator::new("alice", ""), since: Duration::ZERO };
    let _ = save(&store, vec![entry(key("a"), (0, 1), 60, 60), paused], at(0)).await;
    // At level 2: until the deadline, and a span of 120 s for each rung.
    assert_eq!(load(&store, at(60 + 239)).await.len(), 2);
    let years = 10 * 365 * 24 * 60 * 60;
    let left = load(&store, at(years)).await;
    assert_eq!(left.iter().map(|entry| &*entry.key.family).collect::<Vec<_>>(), ["paused"]);
}

/// A level falls by the time in which nobody called, too.
pub async fn quiet_time_is_told(store: Store) {
    let _ = save(&store, vec![entry(key("a"), (0, 1), 60, 60)], at(0)).await;
    assert_eq!(one(&store, at(60)).await.transition.quiet, Duration::ZERO);
    let Transition { quiet, level, remaining, .. } = one(&store, at(100)).await.transition;
    assert_eq!((quiet, level, remaining), (40 * SECOND, 2, Duration::ZERO));
}

/// A level of 200, a deadline beyond the length, a pace that is no number.
pub async fn what_no_clock_can_have_meant_is_clamped(store: Store) {
    let mut absurd = entry(key("a"), (0, 1), 60, u64::MAX);
    absurd.transition.level = 200;
    absurd.transition.pace = Some(f64::NEG_INFINITY);
    let mut endless = entry(key("b"), (0, 1), u64::MAX, u64::MAX);
    endless.transition.pace = Some(f64::NAN);
    let _ = save(&store, vec![absurd, endless], at(0)).await;
    let loaded = load(&store, at(0)).await;
    let told = &loaded[0].transition;
    assert_eq!((told.level, told.remaining, told.pace), (7, 60 * SECOND, None));
    let told = &loaded[1].transition;
    assert!(told.remaining <= told.length && told.length <= 367 * 24 * 3_600 * SECOND, "{told:?}");
    assert_eq!(told.pace, None);
}

/// What was not known to be kept may be given again.
pub async fn twice_is_as_good_as_once(store: Store) {
    let entries = vec![full(key("a")), entry(key("b"), (0, 1), 60, 60)];
    let _ = save(&store, entries.clone(), at(0)).await;
    assert_eq!(save(&store, entries.clone(), at(0)).await, []);
    assert_eq!(load(&store, at(0)).await, entries);
}

/// All or none, and quickly enough.
pub async fn batches_of_thousands(store: Store) {
    let entries: Vec<_> =
        (0..3_000).map(|at| entry(key(&format!("f{at:05}")), (0, 1), 3_600, 3_600)).collect();
    for part in entries.chunks(1_000) {
        assert_eq!(save(&store, part.to_vec(), at(0)).await, []);
    }
    assert_eq!(load(&store, at(0)).await, entries);
}

/// And leaves out the rest.
pub async fn a_look_finds_what_is_there(store: Store) {
    let known = vec![entry(key("a"), (0, 1), 60, 60), entry(part("a", "x"), (0, 1), 30, 30)];
    let _ = save(&store, known.clone(), at(0)).await;
    let keys = vec![part("a", "x"), key("nobody"), part("a", "y")];
    let found = store.look_up(keys, at(10)).await.expect("it looks");
    assert_eq!((found.len(), &found[0].key, remaining(&found[0])), (1, &known[1].key, 20));
    assert_eq!(store.look_up(Vec::new(), at(10)).await.expect("it looks"), []);
}

/// Whoever comes first, the newest generation and the latest deadline stand.
pub async fn concurrent_saves_lose_nothing(store: Store) {
    let save = |generation: u32| {
        let store = Arc::clone(&store);
        async move {
            let told = entry(key("a"), (0, generation), 10_000, u64::from(generation) * 100);
            store.save(vec![told], at(0)).await.expect("it is saved");
        }
    };
    let saves: Vec<_> = (1..=50).rev().map(|generation| tokio::spawn(save(generation))).collect();
    for save in saves {
        save.await.expect("it ends");
    }
    let told = one(&store, at(0)).await;
    assert_eq!((age(&told), remaining(&told)), ((0, 50), 5_000));
}
