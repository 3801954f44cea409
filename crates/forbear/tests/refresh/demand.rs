use forbear::refresh::NotTaken;
use forbear::refresh::work::{Demanded, Invalidated, Undemanded};
use forbear_mock::{MockVendor, reply};

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn a_hundred_demands_for_one_key_are_one_run() {
    let world = World::new(MockVendor::in_process().script(reply(200).delay(SECOND)));
    let refresh = world.refresh(quotes());
    for _ in 0..100 {
        refresh.demand("quotes", ["AAPL"]).await.unwrap();
    }
    let running = run(&refresh);
    tokio::time::sleep(MINUTE).await;
    assert_eq!((world.shelf.of("AAPL"), world.mock.attempts().len()), (1, 1));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_key_is_refreshed_as_often_as_its_source_says_and_only_while_it_is_demanded() {
    let world = World::new(MockVendor::in_process().script(reply(200)));
    let refresh = world.refresh(quotes());
    let running = run(&refresh);
    refresh.demand_for("watchlist", "quotes", ["AAPL", "MSFT"]).await.unwrap();
    refresh.demand_for("holding", "quotes", ["AAPL"]).await.unwrap();
    tokio::time::sleep(3 * HOUR + MINUTE).await;
    assert_eq!((world.shelf.of("AAPL"), world.shelf.of("MSFT")), (4, 4));

    let left = refresh.undemand_for("watchlist", "quotes", ["AAPL", "MSFT"]).await.unwrap();
    assert_eq!(left, [Undemanded::StillDemanded, Undemanded::Gone]);
    tokio::time::sleep(2 * HOUR).await;
    assert_eq!((world.shelf.of("AAPL"), world.shelf.of("MSFT")), (6, 4));

    assert_eq!(refresh.undemand_for("holding", "quotes", ["AAPL"]).await.unwrap(), [Undemanded::Gone]);
    tokio::time::sleep(5 * HOUR).await;
    assert_eq!(world.shelf.len(), 10);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_invalidation_while_it_runs_is_exactly_one_more_run() {
    let world = World::new(MockVendor::in_process().script(reply(200).delay(SECOND)));
    let refresh = world.refresh(quotes());
    let running = run(&refresh);
    refresh.demand("quotes", ["AAPL"]).await.unwrap();
    tokio::time::sleep(SECOND / 2).await;
    for _ in 0..10 {
        assert_eq!(refresh.invalidate("quotes", ["AAPL"]).await.unwrap(), [Invalidated::Again]);
    }
    tokio::time::sleep(30 * MINUTE).await;
    assert_eq!(world.shelf.of("AAPL"), 2);

    // And while it rests, one.
    for _ in 0..10 {
        assert!(matches!(refresh.invalidate("quotes", ["AAPL"]).await.unwrap()[..], [Invalidated::Due(_)]));
    }
    tokio::time::sleep(MINUTE).await;
    assert_eq!(world.shelf.of("AAPL"), 3);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_demand_while_it_runs_is_exactly_one_more_run() {
    let world = World::new(MockVendor::in_process().script(reply(200).delay(SECOND)));
    let refresh = world.refresh(quotes());
    let running = run(&refresh);
    refresh.demand("quotes", ["AAPL"]).await.unwrap();
    tokio::time::sleep(SECOND / 2).await;
    assert_eq!(refresh.demand("quotes", ["AAPL"]).await.unwrap(), [Demanded::Again]);
    tokio::time::sleep(30 * MINUTE).await;
    assert_eq!(world.shelf.of("AAPL"), 2);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn invalidations_keep_the_gap() {
    let world = World::new(MockVendor::in_process().script(reply(200)));
    let refresh = world.refresh(quotes().gap(MINUTE));
    let running = run(&refresh);
    refresh.demand("quotes", ["AAPL"]).await.unwrap();
    for _ in 0..600 {
        tokio::time::sleep(SECOND).await;
        refresh.invalidate("quotes", ["AAPL"]).await.unwrap();
    }
    world.mock.assert_gap_at_least(MINUTE);
    assert!((10..=11).contains(&world.shelf.len()), "{}", world.shelf.len());
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_undemanded_while_it_runs_ends_with_its_run() {
    let world = World::new(MockVendor::in_process().script(reply(200).delay(SECOND)));
    let refresh = world.refresh(quotes());
    let running = run(&refresh);
    refresh.demand("quotes", ["AAPL"]).await.unwrap();
    tokio::time::sleep(SECOND / 2).await;
    assert_eq!(refresh.undemand("quotes", ["AAPL"]).await.unwrap(), [Undemanded::Ending]);
    tokio::time::sleep(3 * HOUR).await;
    assert_eq!(world.shelf.of("AAPL"), 1);
    assert_eq!(world.row("AAPL").await, None);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_taken_is_said() {
    let world = World::new(MockVendor::in_process().script(reply(200)));
    let refresh = world.refresh(quotes());
    assert!(matches!(refresh.demand("quotse", ["A"]).await, Err(NotTaken::UnknownSource(_))));
    assert!(matches!(refresh.demand("quotes", ["A", ""]).await, Err(NotTaken::Name(_))));
    assert_eq!(world.row("A").await, None, "all or nothing");
    world.store.is_gone(true);
    assert!(matches!(refresh.demand("quotes", ["A"]).await, Err(NotTaken::Store(_))));
}

/// A million of them in one call of the store held up all that others asked of it, the cool-downs too.
#[tokio::test(start_paused = true)]
async fn many_keys_go_to_the_store_a_thousand_at_a_time() {
    let world = World::new(MockVendor::in_process().script(reply(200)));
    let refresh = world.refresh(quotes());
    let keys = numbered(10_001);
    let new = refresh.demand("quotes", &keys).await.unwrap();
    assert!(new.len() == 10_001 && new.iter().all(|did| *did == Demanded::New));
    assert_eq!(world.store.calls(), 11);
    assert_eq!(refresh.invalidate("quotes", &keys).await.unwrap().len(), 10_001);
    assert_eq!(refresh.retry("quotes", &keys).await.unwrap().len(), 10_001);
    let gone = refresh.undemand("quotes", &keys).await.unwrap();
    assert!(gone.len() == 10_001 && gone.iter().all(|did| *did == Undemanded::Gone));
    assert_eq!(world.store.calls(), 44);
    assert_eq!(refresh.demand("quotes", [""; 0]).await.unwrap(), []);
}
