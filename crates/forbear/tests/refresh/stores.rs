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
