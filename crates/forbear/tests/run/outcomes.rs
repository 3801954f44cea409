//! What comes out of a run: for its caller, and for its family.

use std::future::ready;
use std::sync::{Arc, Mutex};

use forbear::{Class, HealthPhase, Verdict, signal::Signal};
use tokio::time::sleep;

use crate::common::SECOND;
use crate::{Running, cooling, gate, limited, phase, says, social};

#[tokio::test(start_paused = true)]
async fn the_output_is_returned_as_it_is_whatever_it_means() {
    let verdicts = [
        (Verdict::Good, HealthPhase::Open),
        (Verdict::Neutral, HealthPhase::Open),
        (limited(30 * SECOND), HealthPhase::Cooling),
        (Signal::without_status(Class::Blocked).into(), HealthPhase::Blocked),
    ];
    for (verdict, after) in verdicts {
        let families = social();
        let output: Result<String, i32> = Err(75);
        let context = format!("{verdict:?}");
        let run = gate(&families).run(|| ready(output), |_| verdict);
        assert_eq!(run.await.unwrap(), Err(75), "{context}");
        assert_eq!(phase(&families), after, "{context}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_limited_run_is_not_run_again() {
    let families = social();
    let running = Running::default();
    let output = gate(&families)
        .budget(600 * SECOND)
        .run(
            || {
                let begun = running.begin();
                async move { drop(begun) }
            },
            |()| limited(SECOND),
        )
        .await;
    sleep(60 * SECOND).await;
    assert!(output.is_ok());
    assert_eq!(running.begun(), 1);
}

#[tokio::test(start_paused = true)]
async fn health_names_the_reason_and_the_route_and_no_status() {
    let families = social();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    families.on_signal(move |strike| {
        hears.lock().unwrap().push((strike.route.to_owned(), strike.signal.status, strike.cooldown));
    });
    let _ = says(&gate(&families).route("post\r\n"), limited(30 * SECOND)).await.unwrap();
    assert_eq!(families.health().to_string(), "social  cooling 30s  rate_limit  via post");
    let json = serde_json::to_value(families.health()).unwrap();
    let last = &json["families"][0]["last_signal"];
    assert_eq!(last["status"], serde_json::Value::Null);
    assert_eq!((&last["evidence"], &last["advertised_ms"]), (&"classify".into(), &30_000.into()));
    assert_eq!(*heard.lock().unwrap(), [("post".to_owned(), None, 30 * SECOND)]);

    let refused = says(&gate(&families).no_wait(), Verdict::Good).await.unwrap_err();
    assert_eq!(refused.to_string(), "social is cooling, retry in 30s (rate_limit via post)");
}

#[tokio::test(start_paused = true)]
async fn what_has_no_name_shows_none() {
    let families = cooling(30 * SECOND).await;
    assert_eq!(families.health().to_string(), "social  cooling 30s  rate_limit");
    let refused = says(&gate(&families).no_wait(), Verdict::Good).await.unwrap_err();
    assert_eq!(refused.to_string(), "social is cooling, retry in 30s (rate_limit)");
    let forbear::Error::Cooling(refused) = refused else { panic!("{refused:?}") };
    assert_eq!((refused.route(), refused.url()), (None, None));
}

#[tokio::test(start_paused = true)]
async fn a_signal_without_a_delay_climbs_the_ladder_of_its_class() {
    for (class, rung) in [(Class::Throttled, 120), (Class::Overloaded, 5), (Class::Exhausted, 3600)] {
        let families = social();
        let _ = says(&gate(&families), Signal::without_status(class).into()).await.unwrap();
        let health = families.health();
        assert_eq!(health.family("social").unwrap().remaining, Some(rung * SECOND), "{class}");
        assert_eq!(
            health.family("social").unwrap().last_signal.as_ref().unwrap().reason.as_str(),
            class.as_str()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn fifty_concurrent_limited_runs_are_one_strike() {
    let families = social();
    let gate = gate(&families);
    let runs = (0..50).map(|_| gate.run(|| sleep(SECOND), |()| limited(30 * SECOND)));
    assert!(futures_util::future::join_all(runs).await.iter().all(Result::is_ok));
    let health = families.health();
    let social = health.family("social").unwrap();
    assert_eq!((social.strikes, social.signals, social.attempts), (1, 50, 50));
}
