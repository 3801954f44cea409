//! Where the items come from.

use futures_util::{StreamExt, stream};
use tokio::time::{Instant, sleep};

use crate::{World, counts, done, items, refuses, secs};
use forbear_mock::reply;

#[tokio::test(start_paused = true)]
async fn items_of_a_stream_are_sent_as_they_come_and_nothing_is_polled_meanwhile() {
    let world = World::new(|_| reply(200));
    let slowly = stream::iter(items('a', 1..=5)).then(|item| async move {
        sleep(secs(1)).await;
        item
    });
    let start = Instant::now();
    let mut outcomes = Box::pin(world.sweep().stream_from(slowly, world.get()));
    for number in 1..=5 {
        let outcome = outcomes.next().await.unwrap();
        assert_eq!((outcome.item().clone(), start.elapsed()), (format!("/a/{number}"), secs(number)));
    }
    assert!(StreamExt::next(&mut outcomes).await.is_none());
}

/// What is held back is sent in its time although no further item comes.
#[tokio::test(start_paused = true)]
async fn a_source_that_has_nothing_at_present_does_not_hold_up_what_was_held_back() {
    let world = World::new(refuses(&[1], 5));
    let silent = stream::iter(items('a', 1..=3)).chain(stream::pending());
    let mut outcomes = Box::pin(world.sweep().budget(secs(60)).stream_from(silent, world.get()));
    let start = Instant::now();
    for _ in 0..3 {
        outcomes.next().await.unwrap();
    }
    assert!(start.elapsed() < secs(8), "{:?}", start.elapsed());
    // Its budget ends it, and nobody knows what would have come.
    assert!(outcomes.next().await.is_none());
    assert_eq!((start.elapsed(), outcomes.is_complete()), (secs(60), false));
}

/// Without end: as many are held as was said, and then no more is taken.
#[tokio::test(start_paused = true)]
async fn items_without_end_are_taken_only_as_far_as_they_can_be_held() {
    let world = World::new(refuses(&[1], 5));
    let mut taken = 0;
    let endless = std::iter::from_fn(|| {
        taken += 1;
        Some(format!("/a/{taken}"))
    });
    let sweep = world.sweep().concurrency(4).hold(100).budget(secs(60));
    let mut outcomes = sweep.stream(endless, world.get());
    let mut most = 0;
    for _ in 0..1000 {
        let outcome = outcomes.next().await.unwrap();
        assert!(matches!(outcome, forbear::sweep::Outcome::Done(_)), "{outcome:?}");
        most = most.max(outcomes.progress().held);
    }
    assert!((90..=104).contains(&most), "{most}");
    drop(outcomes);
    assert!(taken <= 1200, "{taken}");
}

/// Those that nobody can count are left where they are when the budget ends, for who wants to go on.
#[tokio::test(start_paused = true)]
async fn items_that_nobody_can_count_are_left_when_the_budget_ends() {
    let world = World::new(|_| reply(200).delay(secs(1)));
    let mut number = 0;
    let mut endless = std::iter::repeat_with(|| {
        number += 1;
        format!("/a/{number}")
    });
    let start = Instant::now();
    let sweep = world.sweep().concurrency(2).budget(secs(10));
    let report = sweep.run(&mut endless, world.get()).await;
    assert_eq!((report.is_complete(), start.elapsed()), (false, secs(10)));
    let (done, deferred, failed) = counts(&report);
    assert!((18..=20).contains(&done) && done + deferred + failed <= 22, "{report}");
    assert_eq!(endless.next().unwrap(), format!("/a/{}", done + deferred + failed + 1));
    assert!(report.to_string().ends_with("not complete"), "{report}");
}

/// A closed family and items without end: each is deferred at once, and others on the thread get their turn.
#[tokio::test(start_paused = true)]
async fn items_without_end_of_a_paused_family_leave_others_their_turn() {
    let world = World::new(|_| reply(200));
    world.families.pause("a", forbear::Operator::new("alice", "contract ended")).unwrap();
    let endless = std::iter::repeat_with(|| "/a/1".to_owned());
    let mut outcomes = world.sweep().budget(secs(60)).stream(endless, world.get());
    let others = tokio::spawn(async { 7 });
    let mut deferred = 0_u32;
    while !others.is_finished() {
        assert!(outcomes.next().await.is_some());
        deferred += 1;
        assert!(deferred < 1_000, "others starve");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_loses_nothing() {
    let world = World::new(refuses(&[3], 5));
    let mut outcomes = world.sweep().budget(secs(600)).stream(items('a', 1..=10), world.get());
    let mut seen = 0;
    while outcomes.next().await.is_some() {
        seen += 1;
        sleep(secs(20)).await;
    }
    assert_eq!(seen, 10);
}

#[tokio::test(start_paused = true)]
async fn one_sweep_can_be_run_again() {
    let world = World::new(|_| reply(200));
    let sweep = world.sweep().concurrency(1).budget(secs(10));
    for _ in 0..3 {
        let report = sweep.run(items('a', 1..=3), world.get()).await;
        assert_eq!(done(&report), ["/a/1", "/a/2", "/a/3"]);
        sleep(secs(9)).await;
    }
}
