//! A sweep that is stopped or dropped on its way.

use std::sync::{Arc, Mutex};

use forbear::sweep::{Outcome, Report};
use tokio::time::{Instant, timeout};

use crate::{World, counts, items, refuses, secs};
use forbear_mock::reply;

#[tokio::test(start_paused = true)]
async fn a_report_keeps_what_was_done_when_the_run_is_dropped() {
    let world = World::new(|_| reply(200).delay(secs(1)));
    let mut report = Report::new();
    let sweep = world.sweep().concurrency(2);
    let run = sweep.run_into(&mut report, items('a', 1..=40), world.get());
    assert!(timeout(secs(5) - secs(1) / 2, run).await.is_err());
    assert_eq!((counts(&report), report.is_complete()), ((8, 0, 0), false), "{report}");
    // And goes on with the rest into the same.
    sweep.run_into(&mut report, items('a', 9..=40), world.get()).await;
    assert_eq!((counts(&report), report.is_complete()), ((40, 0, 0), true), "{report}");
}

#[tokio::test(start_paused = true)]
async fn a_callback_was_told_of_all_that_was_done_when_the_run_is_dropped() {
    let world = World::new(|_| reply(200).delay(secs(1)));
    let told = Arc::new(Mutex::new(0));
    let tell = Arc::clone(&told);
    let sweep = world.sweep().concurrency(2).progress(move |progress| *tell.lock().unwrap() = progress.done);
    assert!(timeout(secs(5) - secs(1) / 2, sweep.run(items('a', 1..=40), world.get())).await.is_err());
    assert_eq!(*told.lock().unwrap(), 8);
}

#[tokio::test(start_paused = true)]
async fn when_it_is_stopped_what_is_held_back_is_deferred_and_what_flies_lands() {
    let world = World::new({
        let mut refused = refuses(&[1], 30);
        move |attempt| refused(attempt).delay(secs(1))
    });
    let all = items('a', 1..=5).chain(items('b', 1..=20));
    // One of the others waits for a place, and no more, since as many are held as may be.
    let mut outcomes = world.sweep().concurrency(2).hold(6).budget(secs(60)).stream(all, world.get());
    let start = Instant::now();
    // The first is refused while the second is on its way; the others of their family stand behind it.
    for path in ["/a/2", "/b/1"] {
        assert_eq!(outcomes.next().await.unwrap().item(), path);
    }
    outcomes.stop();
    let mut rest = Vec::new();
    while let Some(outcome) = outcomes.next().await {
        let kind = match &outcome {
            Outcome::Done(_) => "done",
            Outcome::Deferred(late) => late.reason().as_str(),
            _ => "failed",
        };
        rest.push(format!("{} {kind}", outcome.item()));
    }
    rest.sort();
    let held = [1, 3, 4, 5].map(|number| format!("/a/{number} stopped")).into_iter();
    let others = ["/b/2 done", "/b/3 stopped"].map(str::to_owned);
    assert_eq!(rest, held.chain(others).collect::<Vec<_>>());
    assert!(start.elapsed() <= secs(2) && !outcomes.is_complete(), "{:?}", start.elapsed());
}

/// Dropped anywhere, it leaves no place in a queue, no probe, and nothing in flight.
#[tokio::test(start_paused = true)]
async fn dropped_on_its_way_it_holds_nothing() {
    let world = World::new(refuses(&[1, 2], 10));
    for seconds in [0, 5, 10, 11, 15] {
        let sweep = world.sweep().budget(secs(60));
        let _ = timeout(secs(seconds), sweep.run(items('a', 1..=40), world.get())).await;
        assert_eq!(world.families.health().family("a").unwrap().waiting, 0);
    }
    tokio::time::sleep(secs(60)).await;
    let report = world.sweep().run(items('a', 1..=3), world.get()).await;
    assert_eq!(counts(&report), (3, 0, 0), "{report}");
}
