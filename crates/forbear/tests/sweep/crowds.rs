//! Many items.

use std::time::Duration;

use forbear_mock::reply;
use tokio::time::Instant;

use crate::{World, counts, items, refuses, secs};

/// ixti/sidekiq-throttled#188, sidekiq/sidekiq#5315: throttled work at the head starved the rest.
#[tokio::test(start_paused = true)]
async fn ten_thousand_items_of_a_cooling_family_hold_up_no_other() {
    let world = World::new(refuses(&[1], 300));
    let both = items('a', 1..=10_000).chain(items('b', 1..=10));
    let mut outcomes = world.sweep().budget(secs(3600)).stream(both, world.get());
    let start = Instant::now();
    for number in 1..=10 {
        assert_eq!(*outcomes.next().await.unwrap().item(), format!("/b/{number}"));
    }
    assert!(start.elapsed() < secs(1), "{:?}", start.elapsed());
    assert_eq!((world.sent_of('a'), outcomes.progress().held), (1, 10_000));
    let mut seen = 0;
    while let Some(outcome) = outcomes.next().await {
        assert!(matches!(outcome, forbear::sweep::Outcome::Done(_)));
        seen += 1;
    }
    assert_eq!((seen, world.sent_of('a')), (10_000, 10_001));
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_items_of_two_families_with_eight_at_once_are_all_done() {
    let mut count = 0;
    let world = World::new(move |attempt| {
        count += 1;
        let refused = count % 997 == 0 && attempt.path().starts_with("/a");
        if refused { reply(429).retry_after(3) } else { reply(200).delay(Duration::from_millis(20)) }
    });
    let both = items('a', 1..=5000).zip(items('b', 1..=5000)).flat_map(|(a, b)| [a, b]);
    let start = Instant::now();
    let report = world.sweep().budget(secs(3600)).run(both, world.get()).await;
    assert_eq!(counts(&report), (10_000, 0, 0), "{report}");
    assert!(start.elapsed() < secs(120), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_at_once_meet_one_refusal_each_and_are_done() {
    let world =
        World::new(|attempt| if attempt.since() < secs(1) { reply(429).retry_after(10) } else { reply(200) });
    let sweep = world.sweep().concurrency(10_000).budget(secs(600));
    let report = sweep.run(items('a', 1..=10_000), world.get()).await;
    assert_eq!(counts(&report), (10_000, 0, 0), "{report}");
    assert_eq!(world.families.health().family("a").unwrap().strikes, 1);
}

/// Each host is a family of its own, and each has its wait.
#[tokio::test(start_paused = true)]
async fn a_thousand_families_cool_at_once() {
    let mock = forbear_mock::MockVendor::in_process().script(forbear_mock::respond_with(|attempt| {
        if attempt.since() < secs(5) { reply(429).retry_after(20) } else { reply(200) }
    }));
    let families = forbear::Families::builder().build().unwrap();
    let vendor = forbear::stack(&families).service(mock.service());
    let get = |n: &u32| http::Request::get(format!("http://h{}.test/{n}", n % 1000)).body(crate::Body::new());
    let start = Instant::now();
    let report = forbear::Sweep::new(vendor).concurrency(16).budget(secs(300)).run(0..5000, get).await;
    assert_eq!(counts(&report), (5000, 0, 0), "{report}");
    assert!(start.elapsed() < secs(60), "{:?}", start.elapsed());
    assert_eq!(mock.attempts().refused().len(), 1000);
}
