//! The stores in memory, and what they keep.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use std::num::NonZeroUsize;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use forbear_core::gate::Transition;
use forbear_core::partition::Partition;
use forbear_core::signal::Class;
use forbear_core::store::{
    CooldownEntry, CooldownKey, CooldownRecord, CooldownStore, MemoryCooldowns, MemoryResponses,
    MemoryWorkStore, Part, Pause, ResponseKey, ResponseStore, StoreClock, StoreFault, StoreFuture,
    StoredResponse, WorkStore, struck_from_json,
};
use forbear_core::work::{DemandReason, Demanded, Key, SourceName, Stamp};
use http::StatusCode;

const MINUTE: Duration = Duration::from_secs(60);

fn at(minutes: u32) -> Stamp {
    Stamp::from_millis(1_000_000_000_000).after(MINUTE.saturating_mul(minutes))
}

/// What a store in memory answers: at once.
fn now<T>(mut answer: StoreFuture<'_, T>) -> Result<T, StoreFault> {
    match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer.map_err(|error| error.fault()),
        Poll::Pending => panic!("it waits"),
    }
}

/// A family that cools for a minute more.
fn cooling(family: &str) -> CooldownEntry {
    let key = CooldownKey { family: family.into(), automatic: false, part: None };
    let transition = Transition {
        epoch: 0,
        generation: 1,
        level: 0,
        length: MINUTE,
        remaining: MINUTE,
        pace: None,
        struck: None,
        by: None,
        open: false,
        quiet: Duration::ZERO,
    };
    CooldownEntry { key, transition, pause: Pause::AsBefore }
}

#[test]
fn stores_say_what_they_are() {
    let names = (MemoryCooldowns::new().name().to_owned(), MemoryResponses::new(1).name().to_owned());
    assert_eq!(names, ("memory".to_owned(), "memory".to_owned()));
}

/// As many families as it may hold: what is known is saved on, and what says nothing any more makes room.
#[test]
fn a_full_store_of_cooldowns_says_so_until_some_are_over() {
    let store = MemoryCooldowns::new();
    let all = (0..99_999).map(|family| cooling(&family.to_string())).collect();
    assert_eq!(now(store.save(all, at(0))).unwrap(), []);
    let later = vec![cooling("later")];
    assert_eq!(now(store.save(later.clone(), at(2))).unwrap(), []);
    assert_eq!(now(store.save(vec![cooling("7"), cooling("9")], at(2))).unwrap(), []);
    assert_eq!(now(store.save(vec![cooling("one too many")], at(2))), Err(StoreFault::Full));
    // A minute of cool-down and two of quiet: all but three of them are over now.
    assert_eq!(now(store.save(vec![cooling("one more")], at(3))).unwrap(), []);
    let mut known: Vec<_> =
        now(store.load(at(3))).unwrap().entries.into_iter().map(|entry| entry.key.family).collect();
    known.sort_unstable();
    assert_eq!(known.iter().map(|family| &**family).collect::<Vec<_>>(), ["7", "9", "later", "one more"]);
}

#[test]
fn a_pace_that_is_none_is_not_kept() {
    for (pace, kept) in [(2.5, Some(2.5)), (-2.5, None), (0.0, None), (f64::NAN, None), (f64::INFINITY, None)]
    {
        let mut entry = cooling("vendor");
        entry.transition.pace = Some(pace);
        let mut record = CooldownRecord::new(&entry, at(0));
        let _ = record.mend(at(0));
        assert_eq!(record.pace, kept, "{pace}");
    }
}

/// Only what a class may be sent again for is.
#[test]
fn what_was_kept_of_a_signal_is_no_more_than_its_class_allows() {
    let retryable = |class: Class, kept: bool| {
        let json = format!("{{\"class\":\"{class}\",\"retryable\":{kept}}}");
        struck_from_json(&json).unwrap().signal.retryable
    };
    for class in Class::ALL {
        assert_eq!((retryable(class, true), retryable(class, false)), (class.retryable(), false), "{class}");
    }
}

#[test]
fn parts_are_in_one_order() {
    let part = |name: &str| Part { of: Partition::of(name), label: name.into() };
    let key = |name: &str| CooldownKey { part: Some(part(name)), ..cooling("vendor").key };
    let (one, two) = (key("one"), key("two"));
    assert_eq!(one.partial_cmp(&two), Some(one.cmp(&two)));
    assert_eq!(
        (one.cmp(&key("one")), one == key("one"), one == two),
        (std::cmp::Ordering::Equal, true, false)
    );
}

fn response(variant: u128, bytes: usize) -> StoredResponse {
    StoredResponse {
        key: ResponseKey { what: 1, whose: 0 },
        variant,
        host: "".into(),
        family: None,
        status: StatusCode::OK,
        fields: http::HeaderMap::new(),
        body: vec![0; bytes].into(),
        age: Duration::ZERO,
    }
}

#[test]
fn of_answers_that_came_at_one_moment_the_last_is_found_first() {
    let store = MemoryResponses::new(1 << 20);
    let variants = || -> Vec<u128> {
        let found = now(store.find(response(0, 0).key, at(0))).unwrap();
        found.responses.iter().map(|response| response.variant).collect()
    };
    now(store.put(vec![response(1, 1), response(2, 1)], at(0))).unwrap();
    assert_eq!(variants(), [2, 1]);
    now(store.put(vec![StoredResponse { age: MINUTE, ..response(3, 1) }], at(0))).unwrap();
    assert_eq!(variants(), [2, 1, 3]);
}

#[test]
fn an_answer_as_large_as_the_store_is_kept_and_no_larger_one() {
    let fits = response(1, 10);
    let store = MemoryResponses::new(fits.bytes());
    now(store.put(vec![fits.clone(), response(2, 11)], at(0))).unwrap();
    assert_eq!(now(store.find(fits.key, at(0))).unwrap().responses, [fits]);
}

/// Two who look at one clock may be a second apart, to the millisecond.
#[test]
fn a_clock_that_is_a_second_back_stands_still() {
    let clock = |back: u64| {
        let mut clock = StoreClock::default();
        let _ = (clock.read(Stamp::from_millis(100_000)), clock.read(Stamp::from_millis(100_000 - back)));
        clock.read(Stamp::from_millis(100_000)).as_millis()
    };
    assert_eq!((clock(1000), clock(1001)), (100_000, 101_001));
}

#[test]
fn a_store_of_work_holds_as_many_keys_as_it_has_room_for() {
    let store = MemoryWorkStore::with_room_for(NonZeroUsize::new(3).unwrap());
    let (one, other) = (SourceName::new("one").unwrap(), SourceName::new("other").unwrap());
    let (reason, keys) = (DemandReason::new("page").unwrap(), ["a", "b"].map(|key| Key::new(key).unwrap()));
    let demand = |source, keys| now(store.demand(source, keys, &reason, at(0))).unwrap();
    assert_eq!(demand(&one, &keys), [Demanded::New, Demanded::New]);
    assert_eq!(demand(&other, &keys), [Demanded::New, Demanded::Full]);
    assert_eq!(demand(&one, &keys), [Demanded::Waiting(at(0)), Demanded::Waiting(at(0))]);
}
