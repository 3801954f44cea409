//! A run is one logical request and one attempt.

use std::convert::Infallible;
use std::future::{Future, pending, ready};
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use forbear::{Budget, BudgetLayer, Error, HealthPhase, Spent, Verdict};
use http_body_util::Full;
use tokio::time::{Instant, sleep};
use tower::{Layer, ServiceExt, service_fn};

use crate::common::{MS, SECOND, get};
use crate::{Running, cooling, gate, limited, phase, says, social};

fn time_is_up(error: &Error, attempts: u32, spent: Duration) {
    let Error::BudgetExhausted(exhausted) = error else { unreachable!("{error:?}") };
    assert_eq!((exhausted.what(), exhausted.attempts()), (Spent::Time, attempts), "{exhausted}");
    assert_eq!(exhausted.spent(), spent);
}

#[tokio::test(start_paused = true)]
async fn what_runs_at_the_deadline_is_dropped_and_no_news() {
    let families = social();
    let running = Running::default();
    let run = gate(&families).budget(5 * SECOND).run(
        || {
            let begun = running.begin();
            async move {
                let _begun = begun;
                pending::<()>().await;
            }
        },
        |()| unreachable!("it has no output"),
    );
    time_is_up(&run.await.unwrap_err(), 1, 5 * SECOND);
    assert_eq!((running.begun(), running.now()), (1, 0));
    assert_eq!(phase(&families), HealthPhase::Open);
}

#[tokio::test(start_paused = true)]
async fn a_probe_that_is_dropped_at_the_deadline_gives_its_lease_back() {
    let families = cooling(SECOND).await;
    let dropped = gate(&families).budget(5 * SECOND).run(pending::<()>, |()| Verdict::Good).await;
    time_is_up(&dropped.unwrap_err(), 1, 5 * SECOND);
    let start = Instant::now();
    assert!(says(&gate(&families).budget(20 * SECOND), Verdict::Good).await.is_ok());
    // After the gap of a probe without news; the lease would hold for 30 s.
    assert!(start.elapsed() <= 3 * SECOND, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn without_a_budget_it_runs_for_as_long_as_it_takes() {
    let families = social();
    let run = gate(&families).run(|| sleep(3600 * SECOND), |()| Verdict::Good);
    assert!(run.await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn with_grace_it_may_finish_and_nothing_new_begins() {
    let families = cooling(2 * SECOND).await;
    let gate = gate(&families).budget(5 * SECOND).grace(10 * SECOND);
    assert!(gate.run(|| sleep(10 * SECOND), |()| Verdict::Good).await.is_ok());
    let _ = says(&gate, limited(7 * SECOND)).await;
    assert!(matches!(says(&gate, Verdict::Good).await, Err(Error::Cooling(_))));
}

#[tokio::test(start_paused = true)]
async fn a_budget_that_is_over_runs_nothing() {
    let families = social();
    let run = gate(&families)
        .budget(5 * SECOND)
        .run(|| -> std::future::Ready<()> { unreachable!("it is over") }, |()| Verdict::Good);
    sleep(6 * SECOND).await;
    time_is_up(&run.await.unwrap_err(), 0, 6 * SECOND);
    let spawned = gate(&families).within(Budget::within(Duration::ZERO));
    time_is_up(&says(&spawned, Verdict::Good).await.unwrap_err(), 0, Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn while_somebody_else_probes_it_waits_until_its_deadline() {
    let families = cooling(SECOND).await;
    sleep(2 * SECOND).await;
    let probe = tokio::spawn(gate(&families).run(pending::<()>, |()| Verdict::Good));
    sleep(MS).await;
    // Not longer than the window in which a probe that was not refused counts as accepted.
    let waited = says(&gate(&families).budget(100 * MS), Verdict::Good).await;
    time_is_up(&waited.unwrap_err(), 0, 100 * MS);
    probe.abort();
}

/// What `run` gives, called by a service below a `BudgetLayer`.
async fn below<T, F>(layer: BudgetLayer, run: impl FnOnce() -> F) -> Result<Option<T>, Error>
where
    F: Future<Output = T>,
{
    let run = Mutex::new(Some(run));
    let output = Arc::new(Mutex::new(None));
    let service = layer.layer(service_fn(|_| async {
        let run = run.lock().unwrap().take().unwrap();
        let given = run().await;
        *output.lock().unwrap() = Some(given);
        Ok::<_, Infallible>(http::Response::new(Full::<Bytes>::default()))
    }));
    service.oneshot(get("http://handler.test/")).await?;
    Ok(output.lock().unwrap().take())
}

#[tokio::test(start_paused = true)]
async fn a_budget_around_it_holds_for_waits_and_for_what_runs() {
    let families = cooling(30 * SECOND).await;
    let gate = gate(&families).budget(300 * SECOND);
    let start = Instant::now();
    let inside = below(BudgetLayer::new(5 * SECOND), || says(&gate, Verdict::Good)).await.unwrap().unwrap();
    assert!(matches!(inside, Err(Error::Cooling(_))), "{inside:?}");
    assert!(start.elapsed().is_zero());

    sleep(31 * SECOND).await;
    let left = below(BudgetLayer::new(5 * SECOND), || {
        gate.run(|| ready(Budget::current().unwrap().remaining()), |_| Verdict::Good)
    });
    assert_eq!(left.await.unwrap().unwrap().unwrap(), 5 * SECOND);
    // The run has both deadlines, and is asked before the layer looks at its own.
    let start = Instant::now();
    let inside = below(BudgetLayer::new(5 * SECOND), || gate.run(pending::<()>, |()| Verdict::Good)).await;
    time_is_up(&inside.unwrap().unwrap().unwrap_err(), 1, 5 * SECOND);
    assert_eq!(start.elapsed(), 5 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn each_run_is_an_attempt_of_the_budget_around_it_and_a_refusal_is_none() {
    let families = social();
    let gate = gate(&families).no_wait();
    let two = BudgetLayer::unlimited().attempts(NonZeroU32::new(2).unwrap());
    let runs = below(two, || async {
        families.cool("social", SECOND, forbear::Operator::new("alice", "")).unwrap();
        let refused = says(&gate, Verdict::Good).await;
        sleep(2 * SECOND).await;
        let first = says(&gate, Verdict::Good).await;
        let second = says(&gate, limited(SECOND)).await;
        let third = says(&gate.clone().budget(60 * SECOND), Verdict::Good).await;
        [refused, first, second, third]
    });
    let [refused, first, second, third] = runs.await.unwrap().unwrap();
    assert!(matches!(refused, Err(Error::Cooling(_))));
    assert!(first.is_ok() && second.is_ok());
    // It does not wait for what it may not do.
    let Err(Error::BudgetExhausted(exhausted)) = third else { panic!("{third:?}") };
    assert_eq!(exhausted.what(), Spent::Attempts);
}

#[tokio::test(start_paused = true)]
async fn the_budget_around_it_tells_what_the_vendor_said_last() {
    let families = social();
    let gate = gate(&families);
    let outer = below(BudgetLayer::new(5 * SECOND), || async {
        let _ = says(&gate, limited(30 * SECOND)).await;
        pending::<()>().await;
    });
    let Err(Error::BudgetExhausted(exhausted)) = outer.await else { panic!("it never ends") };
    assert_eq!((exhausted.attempts(), exhausted.last_signal().unwrap().reason.as_str()), (1, "rate_limit"));
    assert_eq!(
        exhausted.to_string(),
        "budget exhausted after 5.0s and 1 attempt: the deadline passed; last signal rate_limit, retry after 30s"
    );
}
