//! Pacing and the gate: who is refused, and what that costs.

use forbear::{Error, NoQueue, Operator, Pacing, RefusalCause, RetryAfterLayer};
use forbear_mock::{MockVendor, reply};
use tokio::time::{Instant, sleep};
use tower::{Layer, ServiceExt};

use crate::common::{Client, MS, SECOND, answer, get, limited, with};
use crate::{URL, crowd, families, gated, paced};

/// Attempts that the gate refused.
fn refusals(families: &forbear::Families) -> u64 {
    families.health().family("vendor").unwrap().refusals
}

#[tokio::test(start_paused = true)]
async fn a_family_that_cools_is_refused_on_entry_as_by_the_gate() {
    let pacing = Pacing::new().at_most(2, 60 * SECOND);
    let (families, client) = (families(pacing), Client::new([limited(429, 5), answer(200)]));
    let service = gated(&families, client.clone());
    assert_eq!(service.clone().oneshot(get(URL)).await.unwrap().status(), 429);
    for number in 1..=10 {
        let error = service.clone().oneshot(get("http://vendor.test/b?key=1")).await.unwrap_err();
        let Error::Cooling(cooling) = error else { panic!("{error:?}") };
        assert_eq!((cooling.cause(), cooling.retry_in()), (RefusalCause::Cooling, Some(5 * SECOND)));
        assert_eq!((cooling.route(), cooling.url().unwrap().as_str()), (Some("/a"), "http://vendor.test/b"));
        assert_eq!(refusals(&families), number, "each counts once");
    }
    // None of them cost anything: one more goes, once the family may be called.
    sleep(5 * SECOND).await;
    assert_eq!(service.oneshot(with(get(URL), NoQueue)).await.unwrap().status(), 200);
    assert_eq!(paced(&families).refusals.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn what_the_gate_refuses_after_its_turn_costs_no_quota() {
    let pacing = Pacing::new().at_most(6, 600 * SECOND).in_flight(6);
    let (families, client) = (families(pacing), Client::new([limited(429, 1), answer(200).delay(SECOND)]));
    let service = gated(&families, client.clone());
    assert_eq!(service.clone().oneshot(get(URL)).await.unwrap().status(), 429);
    sleep(SECOND).await;
    assert_eq!(service.clone().oneshot(get(URL)).await.unwrap().status(), 200);
    // Recovering: a few go; the others have their turn here, and none there.
    let answers = crowd::all((0..20).map(|_| service.clone().oneshot(with(get(URL), NoQueue)))).await;
    let recovering = |answer: &Result<_, Error>| matches!(answer, Err(Error::Cooling(cooling)) if cooling.cause() == RefusalCause::Recovering);
    let refused = answers.iter().filter(|answer| recovering(answer)).count();
    let sent = answers.iter().filter(|answer| answer.is_ok()).count();
    assert!(sent < 4 && sent + refused == 20, "{answers:?}");
    assert_eq!((client.sent(), paced(&families).in_flight), (2 + sent, Some(0)));
    // And as many are left as the limit has.
    for number in 2 + sent..7 {
        sleep(10 * SECOND).await;
        let answer = service.clone().oneshot(with(get(URL), NoQueue)).await;
        assert_eq!(answer.is_ok(), number < 6, "{number}: {answer:?}");
        assert_eq!(matches!(answer, Err(Error::Pacing(_))), number == 6, "{number}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_strike_empties_the_queue() {
    let (families, client) =
        (families(Pacing::new().gap(SECOND)), Client::new([answer(200), limited(429, 30).delay(500 * MS)]));
    let service = gated(&families, client.clone());
    let start = Instant::now();
    let sends = (0..50).map(|_| {
        let service = service.clone();
        async move { (service.oneshot(get(URL)).await, start.elapsed()) }
    });
    let answers = crowd::all(sends).await;
    for (answer, took) in answers.into_iter().skip(2) {
        let Err(Error::Cooling(cooling)) = answer else { panic!("{answer:?}") };
        assert_eq!((took, cooling.retry_in()), (1500 * MS, Some(SECOND * 30)));
    }
    assert_eq!((client.sent(), refusals(&families), paced(&families).queued), (2, 48, 0));
}

#[tokio::test(start_paused = true)]
async fn a_pause_empties_the_queue() {
    let families = families(Pacing::new().gap(SECOND));
    let service = gated(&families, Client::new([answer(200)]));
    let start = Instant::now();
    let sends = crowd::all((0..5).map(|_| service.clone().oneshot(get(URL))));
    let pause = async {
        sleep(1500 * MS).await;
        families.pause("vendor", Operator::new("alice", "contract ended")).unwrap();
    };
    let (answers, ()) = tokio::join!(sends, pause);
    let paused = |answer: &Result<_, Error>| matches!(answer, Err(Error::Cooling(cooling)) if cooling.cause() == RefusalCause::Paused);
    assert_eq!(answers.iter().filter(|answer| paused(answer)).count(), 3);
    // At once, not when the turn of each would have come.
    assert_eq!((start.elapsed(), paced(&families).queued), (1500 * MS, 0));
}

/// All wait for the vendor then, and are sent at the slower of both paces.
#[tokio::test(start_paused = true)]
async fn who_queued_is_parked_after_a_strike_and_sent_later() {
    let mock = MockVendor::in_process().script([reply(200).times(3), reply(429).retry_after(5), reply(200)]);
    let families = families(Pacing::new().gap(200 * MS));
    let vendor = forbear::stack(&families).budget(120 * SECOND).service(mock.service());
    let answers = crowd::all((0..40).map(|_| vendor.send(get(URL)))).await;
    assert!(answers.iter().all(|answer| answer.as_ref().unwrap().status() == 200));
    mock.assert_attempts(41);
    mock.assert_gap_at_least(200 * MS);
    mock.attempts().assert_quiet_between(601 * MS, 5600 * MS);
    assert_eq!(paced(&families).refusals.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn retry_after_does_not_wait_for_a_refusal_of_pacing() {
    let (families, client) = (families(Pacing::new().gap(SECOND)), Client::new([answer(200)]));
    let service = RetryAfterLayer::new().layer(gated(&families, client.clone()));
    let _ = service.clone().oneshot(get(URL)).await.unwrap();
    let start = Instant::now();
    let refused = service.oneshot(with(get(URL), NoQueue)).await;
    assert!(matches!(&refused, Err(Error::Pacing(_))), "{refused:?}");
    assert!(start.elapsed().is_zero());
}
