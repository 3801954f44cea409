//! A store that is not there.

use std::time::Duration;

use forbear::{Families, Family, HealthPhase, StoreFault, StoreState};
use tokio::time::{Instant, sleep, timeout};

use crate::common::SECOND;
use crate::scripted::{Mood, Scripted};
use crate::{builder, next_process, phase, reach, strike};

fn state(families: &Families) -> (StoreState, usize) {
    let store = families.health().stores.pop().unwrap();
    (store.state, store.pending)
}

#[tokio::test(start_paused = true)]
async fn the_program_goes_on_with_what_it_knows_says_so_and_writes_it_later() {
    let store = Scripted::new();
    store.is(Mood::Gone);
    let families = builder(&store).build().unwrap();
    assert_eq!(reach(&families, 1).await, 1, "it starts without it");
    assert_eq!(families.loaded().await.unwrap_err().fault(), StoreFault::Unavailable);
    strike(&families, 3600).await;
    assert_eq!(phase(&families), HealthPhase::Cooling);
    let error = families.stored().await.unwrap_err();
    assert_eq!(error.cause(), "the disk is on fire");
    sleep(SECOND).await;
    assert_eq!(state(&families), (StoreState::Degraded, 1));
    let shown = families.health().to_string();
    assert!(shown.starts_with("store scripted degraded "), "{shown}");
    assert!(shown.contains(": the disk is on fire; 1 not written\nvendor  cooling"), "{shown}");
    assert!(families.health().ready);
    store.is(Mood::Well);
    sleep(60 * SECOND).await;
    assert_eq!(state(&families), (StoreState::Ready, 0));
    assert_eq!(store.saves(), [1]);
    drop(families);
    assert_eq!(phase(&next_process(&store).await), HealthPhase::Cooling);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_gone_is_not_asked_all_the_time() {
    let store = Scripted::new();
    store.is(Mood::Gone);
    let families = builder(&store).build().unwrap();
    sleep(600 * SECOND).await;
    let asked = store.asked();
    assert!((20..40).contains(&asked), "{asked}: 100 ms doubling to 30 s");
    drop(families);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_holds_nobody_up() {
    let store = Scripted::new();
    store.is(Mood::Hangs);
    let families = builder(&store).build().unwrap();
    let began = Instant::now();
    assert_eq!(reach(&families, 1).await, 1);
    strike(&families, 3600).await;
    assert!(began.elapsed() <= SECOND);
    let stored = timeout(11 * SECOND, families.stored()).await.unwrap();
    assert_eq!(stored.unwrap_err().fault(), StoreFault::TimedOut);
    assert_eq!(state(&families), (StoreState::Degraded, 1));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_is_one_that_is_gone() {
    let store = Scripted::new();
    store.is(Mood::Panics);
    let families = builder(&store).build().unwrap();
    assert_eq!(families.loaded().await.unwrap_err().cause(), "the store panicked");
    store.is(Mood::Well);
    strike(&families, 3600).await;
    families.stored().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_store_that_lost_everything_is_told_again() {
    let store = Scripted::new();
    let families = Families::builder()
        .family(Family::new("vendor").host("vendor.test"))
        .family(Family::new("other").host("other.test"))
        .store(store.clone())
        .build()
        .unwrap();
    strike(&families, 3600).await;
    let by = forbear::Operator::new("alice", "");
    families.pause("vendor", by.clone()).unwrap();
    families.stored().await.unwrap();
    store.is(Mood::Lost);
    families.cool("other", 60 * SECOND, by).unwrap();
    assert_eq!(families.stored().await.unwrap_err().fault(), StoreFault::Lost);
    families.stored().await.unwrap();
    drop(families);
    let families = next_process(&store).await;
    assert_eq!(phase(&families), HealthPhase::Paused);
    families.resume("vendor", forbear::Operator::new("alice", "")).unwrap();
    assert_eq!(phase(&families), HealthPhase::Cooling);
}

#[tokio::test(start_paused = true)]
async fn after_the_families_are_gone_it_is_tried_for_five_seconds() {
    let store = Scripted::new();
    let families = next_process(&store).await;
    store.is(Mood::Gone);
    strike(&families, 3600).await;
    drop(families);
    sleep(6 * SECOND).await;
    let asked = store.asked();
    assert!(asked > 10, "{asked}");
    sleep(600 * SECOND).await;
    assert_eq!(store.asked(), asked, "then it ends");
}

#[tokio::test(start_paused = true)]
async fn who_stops_waiting_for_the_store_stops_nothing() {
    let store = Scripted::new();
    let families = next_process(&store).await;
    strike(&families, 3600).await;
    let _ = timeout(Duration::ZERO, families.stored()).await;
    sleep(SECOND).await;
    assert_eq!(store.saves(), [1]);
}

#[tokio::test(start_paused = true)]
async fn after_a_shutdown_nothing_waits_for_more_to_write() {
    let store = Scripted::new();
    let families = next_process(&store).await;
    families.shutdown();
    sleep(SECOND).await;
    strike(&families, 3600).await;
    tokio::task::yield_now().await;
    tokio::task::yield_now().await;
    assert_eq!(store.saves(), [1]);
}

#[tokio::test(start_paused = true)]
async fn without_a_store_nothing_is_durable() {
    let families = Families::builder().build().unwrap();
    assert_eq!(families.stored().await.unwrap_err().fault(), StoreFault::Missing);
    assert!(families.health().stores.is_empty());
}
