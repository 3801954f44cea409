use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::common::Told;
use forbear::Refresh;
use forbear::refresh::work::Phase;
use forbear_mock::{MockVendor, reply};

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_store_that_is_gone_for_a_while_loses_nothing() {
    let world = World::new(MockVendor::in_process().script(reply(200).delay(SECOND)));
    let refresh = world.refresh(quotes().drain(5));
    refresh.demand("quotes", numbered(50)).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(SECOND / 2).await;
    world.store.is_gone(true);
    tokio::time::sleep(10 * SECOND).await;
    let calls = world.store.calls();
    tokio::time::sleep(40 * SECOND).await;
    assert!(world.store.calls() - calls < 10, "it is asked less and less often");
    world.store.is_gone(false);
    until(|| world.shelf.counts().len() == 50).await;
    tokio::time::sleep(10 * SECOND).await;
    for key in numbered(50) {
        let row = world.row(&key).await.unwrap();
        assert_eq!((row.attempts, row.done.is_some()), (0, true), "{key}");
    }
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_does_not_wait_for_a_store_that_is_gone_for_longer_than_the_grace() {
    let world = World::new(MockVendor::in_process().script(reply(200).delay(SECOND)));
    let refresh = world.refresh(quotes());
    refresh.demand("quotes", numbered(5)).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(SECOND / 2).await;
    world.store.is_gone(true);
    let start = tokio::time::Instant::now();
    running.stop().await;
    assert!(start.elapsed() < 21 * SECOND, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_does_not_wait_for_a_store_that_hangs() {
    let world = World::new(MockVendor::in_process().script(reply(200)));
    let refresh = world.refresh(quotes().every(5 * SECOND));
    refresh.demand("quotes", ["A"]).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(SECOND).await;
    world.store.hangs(true);
    let calls = world.store.calls();
    tokio::time::sleep(10 * SECOND).await;
    assert_eq!(world.store.calls(), calls + 1, "it is in the middle of a call");
    let start = tokio::time::Instant::now();
    tokio::time::timeout(MINUTE, running.stop()).await.expect("it ends");
    assert!(start.elapsed() < 21 * SECOND, "{:?}", start.elapsed());
}

/// It could be read and not written: it was back four times a second, and gone again.
#[tokio::test(start_paused = true)]
async fn a_store_that_is_full_is_asked_less_and_less_often_and_told_of_once() {
    let world = World::new(MockVendor::in_process().script(reply(200)));
    let refresh = world.refresh(quotes());
    refresh.demand("quotes", numbered(5)).await.unwrap();
    world.store.is(Mood::Full);
    let told = Told::default();
    told.listen();
    let running = run(&refresh);
    tokio::time::sleep(5 * MINUTE).await;
    assert!(world.store.calls() < 50, "{} calls", world.store.calls());
    let lines = told.take();
    assert!(lines.len() == 1 && lines[0].starts_with("WARN refresh is degraded"), "{lines:?}");
    world.store.is(Mood::Well);
    until(|| world.shelf.len() == 5).await;
    assert_eq!(told.take(), ["INFO the store of the refresh is back"]);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_of_which_every_other_call_fails_loses_nothing() {
    let world = World::new(MockVendor::in_process().script(reply(200)));
    let refresh = world.refresh(quotes().every(24 * HOUR));
    refresh.demand("quotes", numbered(50)).await.unwrap();
    world.store.is(Mood::Flaky);
    let running = run(&refresh);
    until(|| world.shelf.counts().len() == 50).await;
    world.store.is(Mood::Well);
    tokio::time::sleep(2 * MINUTE).await;
    for key in numbered(50) {
        let row = world.row(&key).await.unwrap();
        assert_eq!((row.phase, row.attempts, row.done.is_some()), (Phase::Waiting, 0, true), "{key}");
    }
    assert!(world.shelf.counts().values().all(|count| *count == 1), "{:?}", world.shelf.counts());
    running.stop().await;
}

/// A call that never came back was the last one.
#[tokio::test(start_paused = true)]
async fn a_call_that_hangs_is_given_up_and_the_store_is_asked_again() {
    let world = World::new(MockVendor::in_process().script(reply(200)));
    let refresh = world.refresh(quotes().every(5 * SECOND));
    refresh.demand("quotes", ["A"]).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(SECOND).await;
    world.store.hangs(true);
    tokio::time::sleep(10 * SECOND).await;
    world.store.hangs(false);
    let before = world.shelf.len();
    tokio::time::sleep(MINUTE).await;
    assert!(world.shelf.len() > before + 3, "{}", world.shelf.len());
    running.stop().await;
}

/// After an outage that was longer than the lease a run met its own claim as one of a process that was gone.
#[tokio::test(start_paused = true)]
async fn a_run_that_outlasts_an_outage_is_not_begun_twice() {
    let leases = [MINUTE, 10 * MINUTE];
    for (lease, outage) in
        leases.into_iter().flat_map(|lease| (0..6).map(move |n| (lease, lease + n * lease / 9)))
    {
        let world = World::new(MockVendor::in_process().script(reply(200).delay(30 * MINUTE)));
        let source = shelved(quotes().timeout(HOUR), &world.shelf);
        let refresh = world.builder().lease(lease).source(source).build().unwrap();
        refresh.demand("quotes", ["A"]).await.unwrap();
        let running = run(&refresh);
        tokio::time::sleep(SECOND).await;
        world.store.is_gone(true);
        tokio::time::sleep(outage).await;
        world.store.is_gone(false);
        tokio::time::sleep(31 * MINUTE).await;
        assert_eq!(world.shelf.len(), 1);
        assert_eq!(world.mock.attempts().len(), 1, "a lease of {lease:?}, an outage of {outage:?}");
        running.kill().await;
    }
}

/// A run was dropped while the store claimed for it: the keys waited for the end of a lease that nobody held.
#[tokio::test(start_paused = true)]
async fn a_claim_that_was_cut_off_is_given_back() {
    let world = World::new(MockVendor::in_process().script(reply(200)));
    let refresh = world.refresh(quotes());
    refresh.demand("quotes", ["A"]).await.unwrap();
    world.store.yields(3);
    let mut cut = Box::pin(refresh.run(std::future::pending()));
    let phase = async || world.row("A").await.unwrap().phase;
    while phase().await == Phase::Waiting {
        assert!(futures_util::poll!(cut.as_mut()).is_pending());
        tokio::task::yield_now().await;
    }
    assert_eq!(world.mock.attempts().len(), 0, "it was claimed, and nobody knows yet");
    drop(cut);
    tokio::time::sleep(SECOND).await;
    let row = world.row("A").await.unwrap();
    assert_eq!((row.phase, row.attempts, world.store.claims()), (Phase::Waiting, 0, 1));
    assert_eq!(refresh.health().await.in_flight, 0);
}

/// What ran when a run was dropped is given back at once, so that another process need not wait for the lease.
#[tokio::test(start_paused = true)]
async fn what_is_dropped_is_given_back_to_others() {
    let world = World::new(MockVendor::in_process().script([reply(200).delay(HOUR), reply(200)]));
    let refresh = world.refresh(quotes().timeout(2 * HOUR));
    refresh.demand("quotes", ["A"]).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(SECOND).await;
    running.kill().await;
    tokio::time::sleep(SECOND).await;
    let row = world.row("A").await.unwrap();
    assert_eq!((row.phase, row.attempts), (Phase::Waiting, 0));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_drops_what_it_ran_before_that_is_given_back() {
    let (world, dropped) =
        (World::new(MockVendor::in_process().script(reply(200))), Arc::new(AtomicUsize::new(0)));
    struct Counts(Arc<AtomicUsize>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let counted = Arc::clone(&dropped);
    let source = quotes().fetch(request).store(move |_, _| {
        let counts = Counts(Arc::clone(&counted));
        async move {
            let _counts = counts;
            tokio::time::sleep(Duration::from_secs(20)).await;
            Ok::<_, std::io::Error>(())
        }
    });
    let refresh: Refresh = world.builder().source(source).build().unwrap();
    refresh.demand("quotes", ["A"]).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(SECOND).await;
    running.kill().await;
    until(|| dropped.load(Ordering::SeqCst) == 1).await;
    tokio::time::sleep(SECOND).await;
    assert_eq!(world.row("A").await.unwrap().phase, Phase::Waiting);
}

/// It ended the run, and nobody was told.
#[tokio::test(start_paused = true)]
async fn a_store_that_panics_is_one_that_is_gone() {
    let told = Told::default();
    told.listen();
    let world = World::new(MockVendor::in_process().script(reply(200).delay(SECOND)));
    let refresh = world.refresh(quotes());
    refresh.demand("quotes", ["A"]).await.unwrap();
    let running = run(&refresh);
    // First as it is to take the end of a run, then as it is to give a claim.
    for invalidated in [false, true] {
        tokio::time::sleep(SECOND / 2).await;
        world.store.is(Mood::Panics);
        tokio::time::sleep(5 * SECOND).await;
        world.store.is(Mood::Well);
        if !invalidated {
            tokio::time::sleep(30 * SECOND).await;
            refresh.invalidate("quotes", ["A"]).await.unwrap();
        }
    }
    tokio::time::sleep(MINUTE).await;
    assert_eq!(world.shelf.len(), 2);
    let lines = told.take();
    assert!(lines.iter().any(|line| line.starts_with("WARN refresh is degraded")), "{lines:?}");
    running.stop().await;
}
