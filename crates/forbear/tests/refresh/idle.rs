use forbear_mock::{MockVendor, reply};

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn nobody_asks_the_store_while_nothing_is_due() {
    let world = World::new(MockVendor::in_process().script(reply(200)));
    let refresh = world.refresh(quotes());
    let running = run(&refresh);
    tokio::time::sleep(SECOND).await;
    let calls = world.store.calls();
    tokio::time::sleep(100 * HOUR).await;
    assert_eq!(world.store.calls(), calls, "without a demand");

    refresh.demand("quotes", ["A"]).await.unwrap();
    tokio::time::sleep(SECOND).await;
    let calls = world.store.calls();
    tokio::time::sleep(59 * MINUTE).await;
    assert_eq!(world.store.calls(), calls, "until the next is due");
    tokio::time::sleep(2 * MINUTE).await;
    assert_eq!(world.shelf.len(), 2);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_store_that_others_write_is_looked_into() {
    let world = World::new(MockVendor::in_process().script(reply(200)));
    let ours =
        world.builder().look_every(5 * SECOND).source(shelved(quotes(), &world.shelf)).build().unwrap();
    let theirs = world.refresh(quotes());
    let running = run(&ours);
    tokio::time::sleep(HOUR).await;
    theirs.demand("quotes", ["A"]).await.unwrap();
    tokio::time::sleep(6 * SECOND).await;
    assert_eq!(world.shelf.len(), 1);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_second_run_ends_at_once() {
    let world = World::new(MockVendor::in_process().script(reply(200)));
    let refresh = world.refresh(quotes());
    let first = run(&refresh);
    tokio::time::sleep(SECOND).await;
    let start = tokio::time::Instant::now();
    refresh.run(std::future::pending()).await;
    assert_eq!(start.elapsed(), std::time::Duration::ZERO);
    first.stop().await;
    // And one after the other is fine.
    let second = run(&refresh);
    refresh.demand("quotes", ["A"]).await.unwrap();
    until(|| world.shelf.len() == 1).await;
    second.stop().await;
}
