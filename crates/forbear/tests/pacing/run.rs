//! What is not HTTP takes its turn in the same queue.

use std::future::ready;
use std::time::Duration;

use forbear::{Class, Error, Families, FamilyGate, Pacing, PacingCause, Partition, Verdict, signal::Signal};
use tokio::time::{Instant, sleep};
use tower::ServiceExt;

use crate::common::{Client, MS, SECOND, answer, get};
use crate::{URL, crowd, families, gated, paced, refused};

fn gate(families: &Families) -> FamilyGate {
    families.gate("vendor").unwrap()
}

#[tokio::test(start_paused = true)]
async fn runs_and_requests_keep_one_gap() {
    let (families, client) = (families(Pacing::new().gap(SECOND)), Client::new([answer(200)]));
    let service = gated(&families, client.clone());
    let start = Instant::now();
    let mut took = Vec::new();
    for _ in 0..3 {
        gate(&families).run(|| ready(()), |()| Verdict::Good).await.unwrap();
        took.push(start.elapsed());
        let _ = service.clone().oneshot(get(URL)).await.unwrap();
        took.push(start.elapsed());
    }
    assert_eq!(took, (0..6).map(|n| n * SECOND).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_run_is_in_flight_until_its_output() {
    let families = families(Pacing::new().in_flight(1));
    let start = Instant::now();
    let runs = (0..3).map(|_| async {
        gate(&families).run(|| sleep(SECOND), |()| Verdict::Good).await.unwrap();
        start.elapsed()
    });
    assert_eq!(crowd::all(runs).await, [SECOND, 2 * SECOND, 3 * SECOND]);
    assert_eq!(paced(&families).in_flight, Some(0));
    // Dropped while it runs, and while it waits.
    let running = gate(&families);
    let mut running = Box::pin(running.run(|| sleep(SECOND), |()| Verdict::Good));
    assert!(crate::common::poll_once(running.as_mut()).is_pending());
    let waiting = gate(&families);
    let mut waiting = Box::pin(waiting.run(|| sleep(SECOND), |()| Verdict::Good));
    assert!(crate::common::poll_once(waiting.as_mut()).is_pending());
    assert_eq!((paced(&families).in_flight, paced(&families).queued), (Some(1), 1));
    drop((running, waiting));
    assert_eq!((paced(&families).in_flight, paced(&families).queued), (Some(0), 0));
}

#[tokio::test(start_paused = true)]
async fn a_run_that_may_not_queue_or_comes_too_late_is_refused() {
    let families = families(Pacing::new().at_most(10, SECOND));
    let run = |gate: FamilyGate| async move { gate.run(|| ready(()), |()| Verdict::Good).await };
    run(gate(&families).cost(10)).await.unwrap();
    let start = Instant::now();
    let refusal = refused(run(gate(&families).no_queue()).await).unwrap();
    assert_eq!((refusal.cause(), refusal.family(), refusal.url()), (PacingCause::NoQueue, "vendor", None));
    let refusal = refused(run(gate(&families).budget(500 * MS)).await).unwrap();
    assert_eq!(refusal.cause(), PacingCause::TooLate);
    assert!(start.elapsed().is_zero());
    run(gate(&families).budget(2 * SECOND).no_wait()).await.unwrap();
    assert!(start.elapsed() >= SECOND);
}

/// A run that its partition let go is counted there when its family lets it go.
#[tokio::test(start_paused = true)]
async fn runs_have_the_limits_of_their_partition_too() {
    let each = Pacing::new().gap(3 * SECOND);
    let families = crate::families(Pacing::new().gap(2 * SECOND).per_partition(each));
    let start = Instant::now();
    let runs = ["a", "b", "b"].map(|key| {
        let gate = gate(&families).partition(Partition::of(key));
        async move {
            gate.run(|| sleep(MS), |()| Verdict::Good).await.unwrap();
            start.elapsed() - MS
        }
    });
    assert_eq!(crowd::all(runs).await, [Duration::ZERO, SECOND * 2, SECOND * 5]);
}

/// A run that met a signal empties the queue; who waited there waits for the vendor, and is run once.
#[tokio::test(start_paused = true)]
async fn a_strike_parks_the_runs_that_queued() {
    let families = families(Pacing::new().gap(SECOND));
    let start = Instant::now();
    let runs = (0..4).map(|number| {
        let gate = gate(&families).budget(60 * SECOND);
        async move {
            let said = |limited: &bool| match limited {
                true => Signal::without_status(Class::Throttled).delay(10 * SECOND).into(),
                false => Verdict::Good,
            };
            gate.run(|| ready(number == 1), said).await.unwrap();
            start.elapsed()
        }
    });
    let took = crowd::all(runs).await;
    assert_eq!(took[..2], [Duration::ZERO, SECOND]);
    // In whatever order their jitter had them.
    let (one, other) = (took[2].min(took[3]), took[2].max(took[3]));
    assert!(one >= 11 * SECOND && other >= one + SECOND, "{took:?}");
    // With no time to wait, the gate's refusal.
    let families = crate::families(Pacing::new().gap(SECOND));
    let said = || Signal::without_status(Class::Throttled).delay(10 * SECOND).into();
    gate(&families).run(|| ready(()), |()| said()).await.unwrap();
    let refused = gate(&families).budget(5 * SECOND).run(|| ready(()), |()| Verdict::Good).await;
    assert!(matches!(refused, Err(Error::Cooling(_))), "{refused:?}");
    assert_eq!(families.health().family("vendor").unwrap().refusals, 1);
}
