//! A wall clock that is set while a family cools.

use std::time::Duration;

use forbear::{Families, Family, Operator};
use tokio::time::sleep;

use crate::common::{MS, SECOND};
use crate::scripted::Scripted;
use crate::{next_process, strike, vendor};

const MINUTE: Duration = Duration::from_secs(60);

fn alice() -> Operator {
    Operator::new("alice", "")
}

async fn passes(store: &Scripted, time: Duration) {
    store.passes(time);
    sleep(time).await;
}

/// An hour's cool-down of which 50 minutes are left, when the clock is set back.
async fn set_back(by: Duration) -> (Scripted, Families) {
    let store = Scripted::new();
    let families = next_process(&store).await;
    strike(&families, 3600).await;
    families.stored().await.unwrap();
    passes(&store, 10 * MINUTE).await;
    store.is_set_back(by);
    (store, families)
}

#[tokio::test(start_paused = true)]
async fn a_cool_down_does_not_lengthen_at_its_next_save() {
    for by in [SECOND, 5 * MINUTE, 30 * MINUTE, 24 * 60 * MINUTE] {
        let (store, families) = set_back(by).await;
        for _ in 0..3 {
            // Whatever it is that makes it write anew.
            families.pause("vendor", alice()).unwrap();
            families.resume("vendor", alice()).unwrap();
            families.stored().await.unwrap();
            let left = vendor(&families).remaining.unwrap();
            assert!((50 * MINUTE - SECOND..=50 * MINUTE).contains(&left), "{left:?}, set back by {by:?}");
        }
        drop(store);
    }
}

#[tokio::test(start_paused = true)]
async fn a_cool_down_does_not_lengthen_when_the_store_is_read_again() {
    for by in [5 * MINUTE, 24 * 60 * MINUTE] {
        let (_store, families) = set_back(by).await;
        families.register(Family::new("other").host("other.test")).unwrap();
        sleep(10 * SECOND).await;
        let left = vendor(&families).remaining.unwrap();
        assert!(left < 50 * MINUTE, "{left:?}, set back by {by:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cool_down_does_not_lengthen_at_the_look_before_its_end() {
    let (store, families) = set_back(5 * MINUTE).await;
    families.pause("vendor", alice()).unwrap();
    families.resume("vendor", alice()).unwrap();
    families.stored().await.unwrap();
    passes(&store, 50 * MINUTE - 10 * MS).await;
    sleep(20 * MS).await;
    assert_eq!(vendor(&families).remaining.unwrap_or_default(), Duration::ZERO);
}

/// One that is set back further than to when it was saved leaves no more than was left then.
#[tokio::test(start_paused = true)]
async fn the_next_process_cools_for_no_longer_than_was_left_when_it_was_saved() {
    let store = Scripted::new();
    let families = next_process(&store).await;
    strike(&families, 3600).await;
    families.stored().await.unwrap();
    passes(&store, 40 * MINUTE).await;
    families.pause("vendor", alice()).unwrap();
    families.resume("vendor", alice()).unwrap();
    families.stored().await.unwrap();
    drop(families);
    sleep(SECOND).await;
    store.is_set_back(30 * MINUTE);
    let left = vendor(&next_process(&store).await).remaining.unwrap();
    assert!((19 * MINUTE..=20 * MINUTE + SECOND).contains(&left), "{left:?}");
}

/// After a clear and a shorter cool-down the old deadline hides nothing that another process tells.
#[tokio::test(start_paused = true)]
async fn what_another_process_tells_after_a_clear_is_heard() {
    let store = Scripted::new();
    let one = next_process(&store).await;
    strike(&one, 3600).await;
    one.stored().await.unwrap();
    one.clear("vendor", alice()).unwrap();
    strike(&one, 60).await;
    one.stored().await.unwrap();
    let other = next_process(&store).await;
    strike(&other, 600).await;
    other.cool("vendor", 10 * MINUTE, alice()).unwrap();
    other.stored().await.unwrap();
    passes(&store, 59 * SECOND + 920 * MS).await;
    sleep(100 * MS).await;
    let left = vendor(&one).remaining.unwrap();
    assert!(left > 8 * MINUTE, "{left:?}");
}
