//! What is limited, and when it is sent again.

use std::time::Duration;

use forbear::{Class, Priority};
use forbear_mock::reply;
use tokio::time::Instant;

use crate::common::{Client, answer, limited};
use crate::{World, counts, deferred, done, items, refuses, secs};

/// A 429 anywhere threw away the whole sweep: here it costs one wait.
#[tokio::test(start_paused = true)]
async fn a_deferral_that_fits_the_budget_is_waited_out_and_sent_again() {
    let world = World::new(refuses(&[39], 30));
    let start = Instant::now();
    let report = world.sweep().budget(secs(60)).run(items('a', 1..=40), world.get()).await;
    assert_eq!(counts(&report), (40, 0, 0), "{report}");
    assert!(report.is_complete());
    let took = start.elapsed();
    assert!(secs(30) <= took && took < secs(34), "{took:?}");
    world.mock.assert_attempts(41);
}

#[tokio::test(start_paused = true)]
async fn a_deferral_that_does_not_fit_is_reported_at_once_with_until_and_reason() {
    let world = World::new(refuses(&[39], 90));
    let start = Instant::now();
    let both = items('a', 1..=40).chain(items('b', 1..=5));
    let report = world.sweep().concurrency(1).budget(secs(60)).run(both, world.get()).await;
    assert_eq!((counts(&report), start.elapsed().as_millis()), ((43, 2, 0), 0), "{report}");
    assert_eq!(deferred(&report), ["/a/39", "/a/40"]);
    for (late, sent) in report.deferred().iter().zip([true, false]) {
        assert_eq!((late.family(), late.reason().as_str()), (Some("a"), "retry-after"));
        assert_eq!((late.until(), late.retry_in()), (Some(start + secs(90)), Some(secs(90))));
        assert_eq!((late.was_sent(), late.is_safe_to_repeat()), (sent, true));
        assert_eq!(late.signal().unwrap().class, Class::Throttled);
        assert_eq!(late.to_string(), "a: 429 retry-after, retry in 1m30s");
    }
    assert_eq!(report.retry_in(), Some(secs(90)));
    assert_eq!(report.to_string(), "43 done, 2 deferred (retry in 1m30s), 0 failed");
    world.mock.assert_attempts(44);
}

#[tokio::test(start_paused = true)]
async fn without_waiting_all_that_is_limited_is_reported_at_once() {
    let world = World::new(refuses(&[3], 1));
    let start = Instant::now();
    let sweep = world.sweep().concurrency(1).budget(secs(60)).without_waiting();
    let report = sweep.run(items('a', 1..=10), world.get()).await;
    assert_eq!((counts(&report), start.elapsed().as_millis()), ((2, 8, 0), 0), "{report}");
    world.mock.assert_attempts(3);
}

/// Not one of those that are known to be refused is sent to be refused.
#[tokio::test(start_paused = true)]
async fn while_a_family_cools_its_items_are_not_sent_and_others_go_on() {
    let world = World::new(refuses(&[1], 20));
    let both = items('a', 1..=500).chain(items('b', 1..=50));
    let mut outcomes = world.sweep().concurrency(4).budget(secs(60)).stream(both, world.get());
    let start = Instant::now();
    let mut others = 0;
    while others < 50 {
        let outcome = outcomes.next().await.unwrap();
        others += usize::from(outcome.item().starts_with("/b/"));
    }
    assert!(start.elapsed().is_zero(), "{:?}", start.elapsed());
    // The first goes alone, since nobody knew yet whose families these are.
    assert_eq!(world.sent_of('a'), 1);
    assert_eq!(world.families.health().family("a").unwrap().refusals, 0);
    assert_eq!(outcomes.progress().held, 500);
    let mut last = 0;
    while let Some(outcome) = outcomes.next().await {
        // In the order in which they were given.
        let number = outcome.item()[3..].parse().unwrap();
        assert!(last + 4 >= number, "{number} after {last}");
        last = number;
    }
    assert_eq!(world.sent_of('a'), 501);
}

#[tokio::test(start_paused = true)]
async fn within_a_family_items_are_sent_in_the_order_in_which_they_were_given() {
    let world = World::new(refuses(&[4, 9, 10, 15], 5));
    let report = world.sweep().concurrency(1).budget(secs(600)).run(items('a', 1..=20), world.get()).await;
    let expected: Vec<_> = items('a', 1..=20).collect();
    assert_eq!(done(&report), expected);
    // Also where several go at once: what comes back late does not go behind what was not sent yet.
    let world = World::new(refuses(&[4, 5, 6], 5));
    world.sweep().concurrency(3).budget(secs(600)).run(items('a', 1..=8), world.get()).await;
    let again: Vec<_> = world.sent().split_off(6);
    assert_eq!(again, ["/a/4", "/a/5", "/a/6", "/a/7", "/a/8"], "{:?}", world.sent());
}

/// Azure/go-autorest#214: 429s used up the attempts that faults have, and a long throttle ended in failure.
#[tokio::test(start_paused = true)]
async fn an_item_that_is_limited_five_times_costs_no_attempt() {
    let world = World::new(refuses(&[1, 2, 3, 4, 5], 1));
    let three = std::num::NonZeroU32::new(3).unwrap();
    let vendor = forbear::stack(&world.families).attempts(three).service(world.mock.service());
    let report = forbear::Sweep::new(vendor).budget(secs(60)).run(items('a', 1..=1), world.get()).await;
    assert_eq!(counts(&report), (1, 0, 0), "{report}");
    world.mock.assert_attempts(6);
    world.mock.assert_gap_at_least(secs(1));
}

/// A level that partial progress does not bring down keeps a vendor cut off that serves nearly everything.
#[tokio::test(start_paused = true)]
async fn the_level_comes_down_with_the_spread_progress_of_the_following_sweeps() {
    // Three blind strikes in a row, then one in forty is refused.
    let mut count = 0;
    let world = World::new(move |_| {
        count += 1;
        if count <= 3 || count % 40 == 0 { reply(429).retry_after(2) } else { reply(200) }
    });
    let level = |world: &World| world.families.health().family("a").unwrap().level;
    let start = Instant::now();
    let mut levels = Vec::new();
    for _ in 0..5 {
        let report = world.sweep().budget(secs(120)).run(items('a', 1..=40), world.get()).await;
        assert_eq!(counts(&report), (40, 0, 0), "{report}");
        levels.push(level(&world));
        tokio::time::sleep(secs(1)).await;
    }
    let took = start.elapsed();
    assert_eq!(levels, [2, 1, 1, 1, 1], "{took:?}");
    assert!(took < secs(45), "{took:?}");
}

/// Its own vendor's Retry-After is waited for once, not once for each item.
#[tokio::test(start_paused = true)]
async fn eight_that_are_refused_at_once_are_one_strike_and_one_wait() {
    let world =
        World::new(|attempt| if attempt.since() < secs(1) { reply(429).retry_after(10) } else { reply(200) });
    let start = Instant::now();
    let report = world.sweep().budget(secs(60)).run(items('a', 1..=100), world.get()).await;
    assert_eq!(counts(&report), (100, 0, 0), "{report}");
    assert!(start.elapsed() < secs(16), "{:?}", start.elapsed());
    assert_eq!(world.families.health().family("a").unwrap().strikes, 1);
}

/// The probe goes alone, and those behind it follow at the recovery's pace: 10,000 do not start at once.
#[tokio::test(start_paused = true)]
async fn nothing_stampedes_when_a_family_opens() {
    let world = World::new(|attempt| {
        let early = attempt.since() < secs(1);
        let reply = if early { reply(429).retry_after(10) } else { reply(200) };
        reply.delay(Duration::from_millis(50))
    });
    let sweep = world.sweep().concurrency(64).budget(secs(600));
    let report = sweep.run(items('a', 1..=2000), world.get()).await;
    assert_eq!(counts(&report), (2000, 0, 0), "{report}");
    let attempts: Vec<_> = world.mock.attempts().iter().filter(|a| a.since() > secs(1)).cloned().collect();
    let accepted = attempts[0].at() + Duration::from_millis(50);
    // Nothing was learned, so the pace begins at 40 a second and doubles every 50 ms.
    let within = |millis| {
        let until = accepted + Duration::from_millis(millis);
        attempts.iter().skip(1).filter(|attempt| attempt.at() < until).count()
    };
    assert_eq!(within(0), 0, "the probe goes alone");
    assert!((1..=4).contains(&within(20)), "{}", within(20));
    assert!((3..=14).contains(&within(100)), "{}", within(100));
}

#[tokio::test(start_paused = true)]
async fn an_item_waits_with_the_priority_of_its_request() {
    let world = World::new(refuses(&[1], 10));
    let get = world.get();
    let slow = |path: &String| {
        let mut request = get(path);
        request.extensions_mut().insert(Priority::Background);
        request
    };
    let sweep = world.sweep().budget(secs(60));
    let swept = sweep.run(items('a', 1..=5), slow);
    let vendor = forbear::stack(&world.families).budget(secs(60)).service(world.mock.service());
    let called = async {
        tokio::time::sleep(secs(1)).await;
        vendor.send(get(&"/a/interactive".to_owned())).await.unwrap()
    };
    let (report, _) = tokio::join!(swept, called);
    assert_eq!(counts(&report), (5, 0, 0));
    let place = world.sent().iter().position(|path| path == "/a/interactive").unwrap();
    // Whoever probes, it is not the last.
    assert!(place <= 2, "{:?}", world.sent());
}

/// Nor do those that were held back and those that are new exceed the concurrency together.
#[tokio::test(start_paused = true)]
async fn what_was_held_back_counts_as_on_its_way_when_it_is_sent() {
    let mut count = 0;
    let client = Client::new([limited(429, 5), answer(200).delay(secs(1))]);
    let families = forbear::Families::builder()
        .family(forbear::Family::new("a").host("a.test"))
        .family(forbear::Family::new("b").host("b.test"))
        .build()
        .unwrap();
    let vendor = forbear::stack(&families).service(client.clone());
    let all = (1..=20).map(|number| format!("http://a.test/{number}"));
    let all = all.chain((1..=20).map(|number| format!("http://b.test/{number}")));
    let get = |url: &String| {
        count = client.in_flight().max(count);
        http::Request::get(url).body(crate::Body::new())
    };
    let report = forbear::Sweep::new(vendor).concurrency(3).budget(secs(60)).run(all, get).await;
    assert_eq!(counts(&report), (40, 0, 0), "{report}");
    assert_eq!(count, 2, "a request is made when there is room for it");
}
