//! Whose the places are.

use std::time::Duration;

use forbear::Pacing;
use forbear::sweep::Outcome;
use forbear_mock::{MockVendor, reply};
use tokio::time::Instant;

use crate::{World, counts, done, items, refuses, secs};

/// Items of both families, in turn.
fn mixed(a: u32, b: u32) -> impl Iterator<Item = String> {
    let (mut a, mut b) = (items('a', 1..=a), items('b', 1..=b));
    std::iter::from_fn(move || Some([a.next(), b.next()]))
        .take_while(|both| both.iter().any(Option::is_some))
        .flatten()
        .flatten()
}

/// A is slow, and says nothing about it.
fn slow() -> World {
    World::new(|attempt| {
        let slow = attempt.path().starts_with("/a/");
        reply(200).delay(if slow { secs(30) } else { Duration::from_millis(10) })
    })
}

/// The most that were on their way of `/a/`, by when they were sent and how long they took.
fn most_of_a(world: &World, took: Duration) -> usize {
    let sent: Vec<_> = world
        .mock
        .attempts()
        .iter()
        .filter(|attempt| attempt.path().starts_with("/a/"))
        .map(forbear_mock::Attempt::at)
        .collect();
    sent.iter()
        .map(|at| sent.iter().filter(|other| *other <= at && **other + took > *at).count())
        .max()
        .unwrap_or(0)
}

/// A vendor that answered slowly had all the places before long, and the other one waited for it.
#[tokio::test(start_paused = true)]
async fn a_slow_family_leaves_half_of_the_places_to_others() {
    let world = slow();
    let mut outcomes = world.sweep().budget(secs(3600)).stream(mixed(100, 100), world.get());
    let start = Instant::now();
    for _ in 0..100 {
        let outcome = outcomes.next().await.unwrap();
        assert!(outcome.item().starts_with("/b/"), "{}", outcome.item());
    }
    assert!(start.elapsed() < secs(1), "{:?}", start.elapsed());
    // The first one goes alone, and counts for nobody.
    assert!(world.sent_of('a') <= 5, "{}", world.sent_of('a'));
    let next = tokio::time::timeout(secs(10), outcomes.next()).await;
    assert!(next.is_err() && world.sent_of('a') == 8, "and has all once nobody else is left");
    while let Some(outcome) = outcomes.next().await {
        assert!(matches!(outcome, Outcome::Done(_)));
    }
    assert_eq!((world.sent_of('a'), most_of_a(&world, secs(30))), (100, 8));
    assert!(start.elapsed() < secs(420), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_paced_family_leaves_half_of_the_places_to_others() {
    let first = std::cell::Cell::new(true);
    let pace = |family: forbear::Family| {
        if first.replace(false) { family.pacing(Pacing::new().at_most(1, secs(1))) } else { family }
    };
    let world = World::with(pace, |_| reply(200).delay(Duration::from_millis(10)));
    let mut outcomes = world.sweep().budget(secs(3600)).stream(mixed(100, 100), world.get());
    let start = Instant::now();
    let mut seen = 0;
    while seen < 100 {
        seen += usize::from(outcomes.next().await.unwrap().item().starts_with("/b/"));
    }
    assert!(start.elapsed() < secs(2), "{:?}", start.elapsed());
}

/// So may more come of it, of a source that has nothing at present: the half stays free.
#[tokio::test(start_paused = true)]
async fn while_others_may_come_their_places_stay_free() {
    let world = slow();
    let (send, receive) = tokio::sync::mpsc::unbounded_channel();
    for item in ["/a/1", "/b/1"].into_iter().map(str::to_owned).chain(items('a', 2..=50)) {
        send.send(item).unwrap();
    }
    let source = futures_util::stream::unfold(receive, |mut receive| async move {
        let item = receive.recv().await?;
        Some((item, receive))
    });
    let outcomes = world.sweep().budget(secs(3600)).stream_from(Box::pin(source), world.get());
    let mut outcomes = std::pin::pin!(outcomes);
    assert_eq!(outcomes.next().await.unwrap().item(), "/b/1");
    let start = Instant::now();
    send.send("/b/2".to_owned()).unwrap();
    assert_eq!(outcomes.next().await.unwrap().item(), "/b/2");
    assert!(start.elapsed() < secs(1), "{:?}", start.elapsed());
    assert!((4..=5).contains(&world.sent_of('a')), "{}", world.sent_of('a'));
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_place_is_sent_in_its_order() {
    let world = World::new(|_| reply(200).delay(secs(1)));
    let start = Instant::now();
    let report = world.sweep().concurrency(2).budget(secs(3600)).run(mixed(30, 30), world.get()).await;
    assert!(start.elapsed() <= secs(31), "no place is left free: {:?}", start.elapsed());
    assert_eq!(counts(&report), (60, 0, 0), "{report}");
    for family in ["/a/", "/b/"] {
        let of: Vec<_> = done(&report).into_iter().filter(|path| path.starts_with(family)).collect();
        let given: Vec<_> = (1..=30).map(|n| format!("{family}{n}")).collect();
        assert_eq!(of, given);
    }
}

/// Items without end: as many wait as may be held, and then no more is taken.
#[tokio::test(start_paused = true)]
async fn what_waits_for_a_place_counts_as_held() {
    let world = slow();
    let endless = (1_u32..).flat_map(|n| [format!("/a/{n}"), format!("/b/{n}")]);
    let mut outcomes = world.sweep().hold(50).budget(secs(3600)).stream(endless, world.get());
    let mut most = 0;
    for _ in 0..200 {
        assert!(matches!(outcomes.next().await.unwrap(), Outcome::Done(_)));
        most = most.max(outcomes.progress().held);
    }
    assert!((45..=50).contains(&most), "{most}");
    assert!(outcomes.progress().taken < 320, "{:?}", outcomes.progress());
}

/// The first place that is free is for what comes back, although its family's other items wait too.
#[tokio::test(start_paused = true)]
async fn a_family_that_cooled_comes_back_beside_a_slow_one() {
    let mut limits = refuses(&[1], 5);
    let world = World::new(move |attempt| {
        let slow = attempt.path().starts_with("/b/");
        if slow { reply(200).delay(secs(10)) } else { limits(attempt) }
    });
    let report = world.sweep().concurrency(4).budget(secs(3600)).run(mixed(20, 20), world.get()).await;
    assert_eq!(counts(&report), (40, 0, 0), "{report}");
    let last = done(&report).iter().rposition(|path| path.starts_with("/a/")).unwrap();
    assert!(last < 30, "all of a were done while b went on: {last}");
}

#[tokio::test(start_paused = true)]
async fn what_waits_for_a_place_is_deferred_at_the_end() {
    let world = slow();
    let report = world.sweep().budget(secs(20)).run(mixed(50, 50), world.get()).await;
    assert_eq!(counts(&report), (50, 42, 8), "{report}");
    assert!(report.deferred().iter().all(|late| late.reason().as_str() == "deadline" && !late.was_sent()));
    let mut outcomes = world.sweep().budget(secs(60)).stream(mixed(50, 5), world.get());
    for _ in 0..5 {
        assert!(outcomes.next().await.unwrap().item().starts_with("/b/"));
    }
    outcomes.stop();
    let mut deferred = 0;
    while let Some(outcome) = outcomes.next().await {
        if let Outcome::Deferred(late) = outcome {
            assert_eq!(late.reason().as_str(), "stopped");
            deferred += 1;
        }
    }
    assert!(deferred >= 30, "{deferred}");
}

/// Hosts that are in no family are told apart too.
#[tokio::test(start_paused = true)]
async fn hosts_without_a_family_share_the_places_too() {
    let mock = MockVendor::in_process().script(forbear_mock::respond_with(|attempt| {
        let slow = attempt.path().starts_with("/slow");
        reply(200).delay(if slow { secs(30) } else { Duration::from_millis(10) })
    }));
    let vendor = forbear::stack(&forbear::Families::builder().build().unwrap()).service(mock.service());
    let get = |n: &u32| {
        let (host, path) = if n.is_multiple_of(2) { ("one.test", "slow") } else { ("Two.test", "quick") };
        http::Request::get(format!("http://{host}/{path}/{n}")).body(crate::Body::new())
    };
    let mut outcomes = forbear::Sweep::new(vendor).budget(secs(3600)).stream(0..100, get);
    let start = Instant::now();
    for _ in 0..50 {
        assert_eq!(outcomes.next().await.unwrap().item() % 2, 1);
    }
    assert!(start.elapsed() < secs(1), "{:?}", start.elapsed());
}
