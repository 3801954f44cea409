use std::sync::Arc;

use forbear::refresh::WorkStore;
use forbear::refresh::work::{DemandReason, Key, Phase, SourceName};
use forbear_mock::{MockVendor, reply};

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn what_a_process_ran_that_went_runs_again_after_its_lease() {
    let world = World::new(MockVendor::in_process().script([reply(200).delay(HOUR), reply(200)]));
    let went = world.refresh(quotes().timeout(2 * HOUR));
    went.demand("quotes", ["A"]).await.unwrap();
    let running = run(&went);
    tokio::time::sleep(SECOND).await;
    assert!(matches!(world.row("A").await.unwrap().phase, Phase::Running(_)));
    // It tells the store nothing any more.
    world.store.is_gone(true);
    running.kill().await;
    tokio::time::sleep(11 * SECOND).await;
    world.store.is_gone(false);
    // Another process: nothing in common but the store.
    let next = world.refresh(quotes());
    let running = run(&next);
    tokio::time::sleep(39 * SECOND).await;
    assert_eq!(world.shelf.len(), 0, "its lease runs");
    tokio::time::sleep(15 * SECOND).await;
    assert_eq!(world.shelf.len(), 1);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_long_run_keeps_its_claim() {
    let world = World::new(MockVendor::in_process().script(reply(200).delay(HOUR)));
    let refresh = world.refresh(quotes().every(10 * HOUR).timeout(2 * HOUR));
    let other = world.builder().look_every(SECOND).source(shelved(quotes().timeout(2 * HOUR), &world.shelf));
    let other = other.build().unwrap();
    refresh.demand("quotes", ["A"]).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(SECOND).await;
    let others = run(&other);
    tokio::time::sleep(2 * HOUR).await;
    assert_eq!((world.mock.attempts().len(), world.shelf.len()), (1, 1));
    running.stop().await;
    others.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_dropped_is_given_back_when_it_runs_again() {
    let world = World::new(MockVendor::in_process().script([reply(200).delay(HOUR), reply(200)]));
    let refresh = world.refresh(quotes().timeout(2 * HOUR));
    refresh.demand("quotes", ["A"]).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(SECOND).await;
    running.kill().await;
    let running = run(&refresh);
    tokio::time::sleep(SECOND).await;
    assert_eq!(world.shelf.len(), 1, "without waiting for the lease");
    assert_eq!(world.row("A").await.unwrap().attempts, 0);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_lets_runs_end_within_the_grace_and_gives_back_the_rest() {
    let world = World::new(
        MockVendor::in_process()
            .route("/quick", reply(200).delay(5 * SECOND))
            .route("/slow", [reply(200).delay(25 * SECOND), reply(200)]),
    );
    let refresh = world.refresh(quotes());
    refresh.demand("quotes", ["quick", "slow"]).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(SECOND).await;
    refresh.demand("quotes", ["later"]).await.unwrap();
    let start = tokio::time::Instant::now();
    running.stop().await;
    assert!((10 * SECOND..11 * SECOND).contains(&start.elapsed()), "{:?}", start.elapsed());
    assert_eq!(world.shelf.counts().into_keys().collect::<Vec<_>>(), ["quick"]);
    let slow = world.row("slow").await.unwrap();
    assert_eq!((slow.phase, slow.attempts), (Phase::Waiting, 0));
    let again = world.refresh(quotes());
    let running = run(&again);
    until(|| world.shelf.of("slow") == 1).await;
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_with_nothing_in_flight_ends_at_once() {
    let world = World::new(MockVendor::in_process().script(reply(200)));
    let refresh = world.refresh(quotes());
    refresh.demand("quotes", ["A"]).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(SECOND).await;
    let start = tokio::time::Instant::now();
    running.stop().await;
    assert_eq!(start.elapsed(), std::time::Duration::ZERO);
    assert_eq!(Arc::strong_count(&world.store), 2, "the refresh's own and the test's");
}

/// The clock was ahead when they were written: they were due a day later, and were not refreshed until then.
#[tokio::test(start_paused = true)]
async fn keys_that_a_clock_ahead_has_written_are_due_within_their_interval() {
    for ahead in [10 * HOUR, 1_000 * HOUR] {
        let world = World::new(MockVendor::in_process().script(reply(200)));
        let (source, reason) = (SourceName::new("quotes").unwrap(), DemandReason::new("demand").unwrap());
        let keys = [Key::new("A").unwrap()];
        let then = world.now().after(ahead);
        world.store.demand(&source, &keys, &reason, then).await.unwrap();
        let refresh = world.refresh(quotes());
        let running = run(&refresh);
        tokio::time::sleep(HOUR + MINUTE).await;
        assert_eq!(world.shelf.len(), 1, "ahead by {ahead:?}");
        running.stop().await;
    }
}

#[test]
fn what_ran_when_its_runtime_was_dropped_runs_again_in_the_next_one() {
    let runtime =
        || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let world = World::new(MockVendor::in_process().script([reply(200).delay(HOUR), reply(200)]));
    let refresh = world.refresh(quotes().timeout(2 * HOUR));
    let first = runtime();
    let running = first.block_on(async {
        refresh.demand("quotes", ["A"]).await.unwrap();
        let running = run(&refresh);
        tokio::time::sleep(SECOND).await;
        running
    });
    drop(first);
    drop(running);
    runtime().block_on(async {
        let row = world.row("A").await.unwrap();
        assert!(matches!(row.phase, Phase::Running(_)), "nobody could give it back");
        let running = run(&refresh);
        tokio::time::sleep(SECOND).await;
        assert_eq!((world.shelf.len(), world.row("A").await.unwrap().attempts), (1, 0));
        running.stop().await;
    });
}
