//! Two processes on one store.

use forbear::HealthPhase;
use tokio::time::{Instant, sleep};

use crate::common::{MS, SECOND};
use crate::scripted::{Mood, Scripted};
use crate::{next_process, phase, reach, strike, vendor};

#[tokio::test(start_paused = true)]
async fn before_a_probe_the_store_is_asked_whether_another_knows_of_a_later_end() {
    let store = Scripted::new();
    let (one, other) = (next_process(&store).await, next_process(&store).await);
    strike(&one, 60).await;
    one.stored().await.unwrap();
    sleep(SECOND).await;
    strike(&other, 600).await;
    strike(&other, 600).await;
    other.stored().await.unwrap();
    // The clock of the store goes with that of the test.
    store.passes(59 * SECOND);
    sleep(58 * SECOND).await;
    assert!(vendor(&one).remaining.unwrap() <= 2 * SECOND);
    sleep(SECOND).await;
    let left = vendor(&one).remaining.unwrap();
    assert!(left > 500 * SECOND, "{left:?}");
    sleep(5 * SECOND).await;
    assert_eq!((phase(&one), reach(&one, 5).await), (HealthPhase::Cooling, 0));
}

#[tokio::test(start_paused = true)]
async fn a_look_before_a_probe_is_waited_for_no_longer_than_50_ms() {
    let store = Scripted::new();
    let families = next_process(&store).await;
    strike(&families, 60).await;
    families.stored().await.unwrap();
    store.is(Mood::HangsOnLooks);
    store.passes(59 * SECOND + 920 * MS);
    sleep(59 * SECOND + 920 * MS).await;
    let began = Instant::now();
    families.pause("vendor", forbear::Operator::new("alice", "")).unwrap();
    families.stored().await.unwrap();
    assert!((10 * MS..=60 * MS).contains(&began.elapsed()), "{:?}", began.elapsed());
    families.resume("vendor", forbear::Operator::new("alice", "")).unwrap();
    sleep(SECOND).await;
    assert_eq!(reach(&families, 1).await, 1);
}

#[tokio::test(start_paused = true)]
async fn who_did_not_pause_does_not_end_anothers_pause() {
    let store = Scripted::new();
    let (one, other) = (next_process(&store).await, next_process(&store).await);
    one.pause("vendor", forbear::Operator::new("alice", "")).unwrap();
    one.stored().await.unwrap();
    strike(&other, 60).await;
    other.stored().await.unwrap();
    assert_eq!(phase(&next_process(&store).await), HealthPhase::Paused);
}

#[tokio::test(start_paused = true)]
async fn of_two_deadlines_the_later_one_is_kept() {
    let store = Scripted::new();
    let (one, other) = (next_process(&store).await, next_process(&store).await);
    strike(&one, 3600).await;
    one.stored().await.unwrap();
    strike(&other, 60).await;
    other.stored().await.unwrap();
    assert!(vendor(&other).remaining.unwrap() > 3000 * SECOND, "it is told by the answer");
    let third = next_process(&store).await;
    assert!(vendor(&third).remaining.unwrap() > 3000 * SECOND);
}
