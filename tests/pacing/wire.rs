//! The whole stack on real sockets, beside one that is not paced.
//!
//! Where the client is called and where the vendor counts lie a thread's pause, a handshake and a reader's turn apart, so two
//! attempts may meet the vendor closer than they went: on loopback by a few milliseconds, on a machine with more work than
//! processors by more than a hundred, whenever it stops one side at the wrong point. Hence [`MARGIN`]; and since nothing bounds
//! such a stop, of three runs one must keep to it, and none may miss it by more than [`SLACK`]. What goes unpaced misses it by
//! far, each time. What a machine's lateness cannot bring about is never allowed: more than the time since the start allows.

use std::time::Duration;

use forbear::{Pacing, PacingLayer, RetryAfterLayer};
use forbear_mock::{Limiter, MockVendor, cycle, reply};
use forbear_tests::client::{client, get};
use forbear_tests::families::{families, family};
use forbear_tests::times::{SLACK, ms};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};
use tower::retry::RetryLayer;
use tower::{Layer, ServiceExt};

use crate::support::{Again, Tap, most_within, too_close};

const CALLERS: usize = 200;
/// By how much the way to the vendor may move two attempts against each other.
const MARGIN: Duration = Duration::from_millis(150);
/// How long each run takes.
const SPAN: Duration = Duration::from_secs(2);
const RUNS: usize = 3;

/// What one run was like.
struct Run {
    began: Instant,
    /// When the client was called, and when each arrived.
    sent: Vec<Instant>,
    arrived: Vec<Instant>,
}

/// 200 callers at once, each of which sends again what fails; those who are not served within [`SPAN`] go away.
async fn run(mock: &MockVendor, pacing: Pacing) -> Run {
    let families = families([family("vendor", [mock]).pacing(pacing)]);
    let tap = Tap::new(client());
    let gate = forbear::FamilyCooldownLayer::new(families.clone());
    let layers = (RetryAfterLayer::new(), RetryLayer::new(Again(true)), PacingLayer::new(families), gate);
    let vendor = layers.layer(tap.clone());
    let began = Instant::now();
    let mut callers = JoinSet::new();
    for number in 0..CALLERS {
        let call = vendor.clone().oneshot(get(mock.url(&format!("/{number}"))));
        callers.spawn(async move { call.await.map(|response| response.status().as_u16()) });
    }
    let _ = timeout(SPAN, async {
        while let Some(ended) = callers.join_next().await {
            assert!(matches!(ended.unwrap(), Ok(200 | 500)));
        }
    })
    .await;
    let sent = tap.sent();
    callers.shutdown().await;
    let arrived = mock.attempts().iter().map(forbear_mock::Attempt::at).collect();
    Run { began, sent, arrived }
}

/// Runs until `wrong`, which says by how much a run missed, is within the margin of the network: in one of three runs at
/// least, and by at most [`SLACK`] in all.
async fn holds(what: &str, mut wrong: impl AsyncFnMut() -> Duration) {
    let mut seen = Vec::new();
    for _ in 0..RUNS {
        let missed = wrong().await;
        eprintln!("{what}: {missed:?} too close");
        assert!(missed <= SLACK, "{what}: {missed:?}");
        seen.push(missed);
        if missed <= MARGIN {
            return;
        }
    }
    unreachable!("{what}: missed by {seen:?}")
}

/// Of those that were sent, every third is sent again, through the same queue.
fn some_fail() -> forbear_mock::Script {
    cycle([reply(200), reply(500), reply(200)])
}

#[tokio::test]
async fn gaps_are_kept_where_the_client_is_called_and_at_the_socket() {
    for gap in [10, 20, 50, 100, 200].map(ms) {
        holds(&format!("gap of {gap:?}"), async || {
            let mock = MockVendor::start().await.script(some_fail());
            let Run { began, sent, arrived } = run(&mock, Pacing::new().gap(gap)).await;
            // However late a machine is: never more than the time since the start allows.
            for (number, at) in (0_u32..).zip(&arrived) {
                assert!(*at - began >= gap * number, "{number} within {:?}", *at - began);
            }
            assert!(sent.len() >= 3, "{}", sent.len());
            let used =
                gap.as_secs_f64() * (sent.len() - 1) as f64 / (sent[sent.len() - 1] - sent[0]).as_secs_f64();
            eprintln!("gap of {gap:?}: {} attempts, {:.1} % of what it allows", sent.len(), 100.0 * used);
            too_close(&sent, gap).max(too_close(&arrived, gap))
        })
        .await;
    }
}

/// A vendor that counts by itself never says 429, as long as pacing knows the margin.
#[tokio::test]
async fn a_vendor_that_counts_a_window_never_refuses() {
    for (most, per) in [(10, ms(200)), (20, ms(500)), (50, ms(500))] {
        holds(&format!("{most} per {per:?}"), async || {
            let limit = Limiter::sliding_window(most, per);
            let mock = MockVendor::start().await.limit(limit).script(some_fail());
            let Run { sent, arrived, .. } = run(&mock, Pacing::new().at_most(most, per).margin(MARGIN)).await;
            let most = most as usize;
            assert!(sent.len() > most, "{}", sent.len());
            let whole = (sent.len() - 1) / most;
            let used =
                (per + MARGIN).as_secs_f64() * whole as f64 / (sent[whole * most] - sent[0]).as_secs_f64();
            eprintln!("{most} per {per:?}: {} attempts, {:.1} % of what it allows", sent.len(), 100.0 * used);
            if mock.attempts().refused().is_empty() {
                return Duration::ZERO;
            }
            // By how much the span would have to be shorter.
            let short = (1..).map(|short| ms(10 * short)).find(|short| {
                let span = per.saturating_sub(*short);
                span.is_zero() || most_within(&arrived, span) <= most
            });
            MARGIN + short.unwrap_or(SLACK)
        })
        .await;
    }
}

/// The measures above tell one that is not paced at once.
#[tokio::test]
async fn what_is_not_paced_is_seen_to_be() {
    let mock = MockVendor::start().await.script(reply(200));
    let Run { sent, arrived, .. } = run(&mock, Pacing::new().in_flight(1_000)).await;
    assert!(too_close(&sent, ms(10)) > SLACK && too_close(&arrived, ms(10)) > MARGIN);
    assert!(most_within(&sent, ms(500)) > 50);
}
