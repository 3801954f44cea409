//! The whole stack under a paused clock, where times are exact: no span holds more than its limit, and what the limit allows
//! is used.

use std::time::Duration;

use forbear::{Families, Family, Pacing, Vendor};
use forbear_mock::{MockService, MockVendor, cycle, reply};
use forbear_tests::client::get;
use forbear_tests::times::ms;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tower::retry::RetryLayer;
use tower::{Layer, ServiceExt};

use crate::support::{Again, SECOND, Tap, most_within, too_close};

const CALLERS: usize = 200;

/// Each of 200 callers sends so many requests, one as soon as another is answered: when they were sent.
async fn sent(pacing: Pacing, each: usize) -> Vec<Instant> {
    let mock = MockVendor::in_process().script(cycle([
        reply(200),
        reply(200).delay(ms(30)),
        reply(200).delay(ms(7)),
    ]));
    let family = Family::new("vendor").host("vendor.test").pacing(pacing);
    let families = Families::builder().family(family).build().unwrap();
    let tap = Tap::new(mock.service());
    let vendor: Vendor<Tap<MockService>> =
        forbear::stack(&families).budget(3600 * SECOND).service(tap.clone());
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let vendor = vendor.clone();
        callers.spawn(async move {
            for _ in 0..each {
                assert_eq!(vendor.send(get("http://vendor.test/")).await.unwrap().status(), 200);
            }
        });
    }
    let _ = callers.join_all().await;
    let sent = tap.sent();
    assert_eq!(sent.len(), CALLERS * each);
    sent
}

/// The time that so many attempts take at least, of that which they took, in per cent.
fn used(sent: &[Instant], least: Duration) -> f64 {
    100.0 * least.as_secs_f64() / (sent[sent.len() - 1] - sent[0]).as_secs_f64()
}

#[tokio::test(start_paused = true)]
async fn gaps_are_kept_to_the_nanosecond_and_used() {
    for (gap, percent) in [(10, 88.0), (20, 93.0), (50, 98.0), (100, 98.0), (200, 98.0)] {
        let gap = ms(gap);
        let sent = sent(Pacing::new().gap(gap), 3).await;
        assert!(sent.windows(2).all(|two| two[1] - two[0] >= gap), "closer than {gap:?}");
        assert_eq!(too_close(&sent, gap), Duration::ZERO);
        let used = used(&sent, gap * (sent.len() as u32 - 1));
        assert!(used >= percent, "{used} % of what a gap of {gap:?} allows");
    }
}

#[tokio::test(start_paused = true)]
async fn no_span_holds_more_than_its_window_allows_and_all_of_that_is_used() {
    for (most, per) in
        [(1, ms(50)), (7, ms(100)), (10, SECOND), (100, SECOND), (50, 10 * SECOND), (3_000, 10 * SECOND)]
    {
        let each = if most == 3_000 { 60 } else { 3 };
        let sent = sent(Pacing::new().at_most(most, per), each).await;
        let most = most as usize;
        assert!(most_within(&sent, per) <= most, "{} in some {per:?}", most_within(&sent, per));
        // The last whole window's worth may go at once.
        let used = used(&sent, per * ((sent.len() - 1) / most) as u32);
        assert!(used >= 98.0, "{used} % of {most} per {per:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn several_limits_hold_together() {
    let pacing = Pacing::new().at_most(20, SECOND).at_most(50, 5 * SECOND).gap(ms(10)).in_flight(3);
    let sent = sent(pacing, 3).await;
    assert!(most_within(&sent, SECOND) <= 20 && most_within(&sent, 5 * SECOND) <= 50);
    assert_eq!(too_close(&sent, ms(10)), Duration::ZERO);
    // Eleven times fifty, and 49 more at twenty a second.
    let used = used(&sent, 11 * 5 * SECOND + 2 * SECOND);
    assert!(used >= 98.0, "{used}");
}

/// What another layer sends again takes its place behind those who came before, and keeps its distance.
#[tokio::test(start_paused = true)]
async fn what_is_sent_again_takes_its_turn() {
    let mock = MockVendor::in_process().script(cycle([reply(500), reply(200)]));
    let family = Family::new("vendor").host("vendor.test").pacing(Pacing::new().gap(ms(50)));
    let families = Families::builder().family(family).build().unwrap();
    let tap = Tap::new(mock.service());
    let paced = forbear::PacingLayer::new(families.clone());
    let gate = forbear::FamilyCooldownLayer::new(families);
    let vendor =
        (forbear::RetryAfterLayer::new(), RetryLayer::new(Again(true)), paced, gate).layer(tap.clone());
    let mut callers = JoinSet::new();
    for _ in 0..CALLERS {
        let call = vendor.clone().oneshot(get("http://vendor.test/"));
        callers.spawn(async move { call.await.map(|response| response.status().as_u16()) });
    }
    let ended = callers.join_all().await;
    assert!(ended.iter().all(|ended| matches!(ended, Ok(200 | 500))));
    let sent = tap.sent();
    assert!(sent.len() > CALLERS + CALLERS / 4, "{}", sent.len());
    assert_eq!(too_close(&sent, ms(50)), Duration::ZERO);
}
