//! Everybody comes at the instant a cool-down ends.

use forbear::{Error, Families};
use http::StatusCode;
use tokio::task::JoinSet;

use crate::support::{Held, MILLISECOND, SECOND, answer, get, impatient, limited, registered, settle};

const CALLERS: usize = 10_000;

type Outcome = Result<StatusCode, Error>;

/// A family at the instant at which its cool-down ends, and everybody who comes then; every other one is patient.
async fn stampede(held: &Held) -> (Families, JoinSet<(bool, Outcome)>) {
    let families = registered();
    let vendor = forbear::stack(&families).budget(60 * SECOND).service(held.client());
    let first = tokio::spawn({
        let vendor = vendor.clone();
        async move { vendor.send(impatient("/")).await.map(|response| response.status()) }
    });
    settle().await;
    held.answer(0, limited("5"));
    assert_eq!(first.await.unwrap().unwrap(), StatusCode::TOO_MANY_REQUESTS);
    tokio::time::sleep(5 * SECOND).await;

    let mut all = JoinSet::new();
    for number in 0..CALLERS {
        let vendor = vendor.clone();
        let patient = number % 2 == 0;
        let request = if patient { get("/") } else { impatient("/") };
        all.spawn(async move { (patient, vendor.send(request).await.map(|response| response.status())) });
    }
    // The paused clock moves on when all of them have come.
    tokio::time::sleep(MILLISECOND).await;
    (families, all)
}

// resilience4j/resilience4j#343, xvirobotics/metabot#414: a half-open breaker let everybody through.
#[tokio::test(start_paused = true)]
async fn of_ten_thousand_one_probes_and_the_rest_wait_for_its_verdict() {
    let held = Held::default();
    let (families, mut all) = stampede(&held).await;
    assert_eq!(held.sent(), 2, "one attempt before the verdict");
    assert_eq!(families.health().family("vendor").unwrap().waiting, CALLERS / 2 - 1);
    held.answer(1, answer(200));
    let mut answered = 2;
    let (mut served, mut refused) = (0, 0);
    while served + refused < CALLERS {
        settle().await;
        while answered < held.sent() {
            held.answer(answered, answer(200));
            answered += 1;
        }
        while let Some(ended) = all.try_join_next() {
            match ended.unwrap() {
                (true, Ok(StatusCode::OK)) => served += 1,
                (false, Err(Error::Cooling(_))) => refused += 1,
                other => unreachable!("{other:?}"),
            }
        }
        tokio::time::sleep(5 * MILLISECOND).await;
    }
    assert_eq!((served, refused), (CALLERS / 2, CALLERS / 2));
}

// resilience4j/resilience4j#343, xvirobotics/metabot#414: after a bad verdict it is again one.
#[tokio::test(start_paused = true)]
async fn after_a_bad_verdict_one_probes_again() {
    let held = Held::default();
    let (_families, all) = stampede(&held).await;
    for round in 2..5 {
        assert_eq!(held.sent(), round, "one attempt per cool-down");
        held.answer(round - 1, limited("5"));
        settle().await;
        // The stretch doubles the delay; jitter adds at most a second.
        tokio::time::sleep(3 * SECOND).await;
        assert_eq!(held.sent(), round, "nothing is sent while it cools");
        while held.sent() == round {
            tokio::time::sleep(10 * MILLISECOND).await;
        }
    }
    assert!(all.len() > CALLERS / 3);
}
