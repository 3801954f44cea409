//! A wait ends with the budget, and one that does not fit is not begun.

use forbear::{Budget, BudgetLayer, Error, Pacing, PacingCause, Spent};
use tokio::time::{Instant, sleep};
use tower::{Layer, ServiceExt};

use crate::common::{Client, MS, SECOND, answer, get, hangs, limited, with};
use crate::{URL, crowd, families, gated, paced, refused, service};

#[tokio::test(start_paused = true)]
async fn who_cannot_go_in_time_is_refused_before_it_waits() {
    let (families, client) = (families(Pacing::new().gap(SECOND)), Client::new([answer(200)]));
    let service = BudgetLayer::new(2500 * MS).layer(gated(&families, client.clone()));
    let start = Instant::now();
    let sends = (0..6).map(|_| {
        let service = service.clone();
        async move { (service.oneshot(get(URL)).await, start.elapsed()) }
    });
    let answers = crowd::all(sends).await;
    for (number, (answer, took)) in answers.into_iter().enumerate() {
        if number < 3 {
            assert_eq!(answer.unwrap().status(), 200, "{number}");
            continue;
        }
        let refused = refused(answer).unwrap();
        assert_eq!((refused.cause(), refused.retry_in()), (PacingCause::TooLate, Some(SECOND)), "{number}");
        assert!(took.is_zero(), "{number}: {took:?}");
    }
    assert_eq!(client.sent(), 3);
}

/// Nobody knows when what is in flight ends, so it is queued, and refused when its deadline comes.
#[tokio::test(start_paused = true)]
async fn who_queued_is_refused_when_its_deadline_comes() {
    let (families, client) = (families(Pacing::new().in_flight(1)), Client::new([hangs(), answer(200)]));
    let service = service(&families, client.clone());
    let hanging = tokio::spawn(service.clone().oneshot(get(URL)));
    tokio::task::yield_now().await;
    let start = Instant::now();
    let error = service.clone().oneshot(with(get(URL), Budget::within(2 * SECOND))).await.unwrap_err();
    assert_eq!(refused::<()>(Err(error)).unwrap().cause(), PacingCause::TooLate);
    // Before any answer came, one is taken to need 50 ms.
    assert_eq!(start.elapsed(), 1950 * MS);
    // The same inside a budget of a layer: a refusal too, since nothing was sent.
    let error = BudgetLayer::new(SECOND).layer(service.clone()).oneshot(get(URL)).await.unwrap_err();
    assert!(matches!(&error, Error::Pacing(refused) if refused.cause() == PacingCause::TooLate), "{error:?}");
    assert_eq!((start.elapsed(), paced(&families).queued, client.sent()), (2900 * MS, 0, 1));
    hanging.abort();
}

/// Attempts at the very end of their budgets would use up the quota, and serve nobody.
#[tokio::test(start_paused = true)]
async fn who_would_go_too_late_for_an_answer_is_not_sent() {
    let (families, client) =
        (families(Pacing::new().gap(SECOND)), Client::new([answer(200).delay(800 * MS)]));
    let service = gated(&families, client.clone());
    let send = |budget| service.clone().oneshot(with(get(URL), Budget::within(budget)));
    assert_eq!(send(10 * SECOND).await.unwrap().status(), 200);
    // In 200 ms it could go; then 799 ms would be left.
    let start = Instant::now();
    assert_eq!(refused(send(999 * MS).await).unwrap().cause(), PacingCause::TooLate);
    assert!(start.elapsed().is_zero());
    // With two milliseconds more it goes, and is answered. One that need not wait goes with whatever it has.
    let budget = BudgetLayer::new(1002 * MS);
    assert_eq!(budget.layer(service.clone()).oneshot(get(URL)).await.unwrap().status(), 200);
    sleep(SECOND).await;
    assert_eq!(send(10 * MS).await.unwrap().status(), 200);
    assert_eq!(client.sent(), 3);
}

/// They queued before anybody knew how long an answer takes.
#[tokio::test(start_paused = true)]
async fn who_queued_before_the_first_answer_is_not_sent_too_late_for_one() {
    let (families, client) =
        (families(Pacing::new().in_flight(1)), Client::new([answer(200).delay(800 * MS)]));
    let service = BudgetLayer::new(3 * SECOND).layer(gated(&families, client.clone()));
    let answers = crowd::all((0..6).map(|_| service.clone().oneshot(get(URL)))).await;
    let refusals: Vec<_> = answers.into_iter().filter_map(refused).collect();
    // The fourth would have had 600 ms left.
    assert_eq!((client.sent(), refusals.len()), (3, 3));
    assert!(refusals.iter().all(|refused| refused.cause() == PacingCause::TooLate));
    assert_eq!(
        refusals[0].to_string(),
        "the turn at vendor comes too late for an answer before the deadline; give it more time, or send less"
    );
    assert_eq!(refusals[0].retry_in(), None);
}

#[tokio::test(start_paused = true)]
async fn without_a_budget_a_turn_is_waited_for_at_most_a_minute() {
    let families = families(Pacing::new().gap(50 * SECOND));
    let service = service(&families, Client::new([answer(200)]));
    let answers = crowd::all((0..3).map(|_| service.clone().oneshot(get(URL)))).await;
    let sent: Vec<_> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(sent, [true, true, false]);
    let refusal = answers.into_iter().find_map(refused).unwrap();
    assert_eq!(refusal.cause(), PacingCause::TooLate);
}

#[tokio::test(start_paused = true)]
async fn a_shutdown_ends_the_waits_and_what_needs_none_goes_on() {
    let families = families(Pacing::new().gap(SECOND));
    let service = gated(&families, Client::new([answer(200)]));
    let start = Instant::now();
    let sends = crowd::all((0..4).map(|_| service.clone().oneshot(get(URL))));
    let shutdown = async {
        sleep(1500 * MS).await;
        families.shutdown();
    };
    let (answers, ()) = tokio::join!(sends, shutdown);
    let causes: Vec<_> = answers.into_iter().filter_map(refused).map(|refused| refused.cause()).collect();
    assert_eq!((causes, start.elapsed()), (vec![PacingCause::ShuttingDown; 2], 1500 * MS));
    let refusal = refused(service.clone().oneshot(get(URL)).await).unwrap();
    assert_eq!(refusal.cause(), PacingCause::ShuttingDown);
    sleep(SECOND).await;
    assert_eq!(service.oneshot(get(URL)).await.unwrap().status(), 200);
}

/// There was an answer, and it is gone: the error says what came of the next attempt, and what the vendor said.
#[tokio::test(start_paused = true)]
async fn a_shutdown_before_the_next_attempt_says_so() {
    let families = families(Pacing::new().gap(10 * SECOND));
    let service =
        forbear::stack(&families).budget(60 * SECOND).layer(Client::new([limited(429, 5), answer(200)]));
    let shutdown = async {
        sleep(7 * SECOND).await;
        families.shutdown();
    };
    let (answer, ()) = tokio::join!(service.oneshot(get(URL)), shutdown);
    match answer {
        Err(Error::BudgetExhausted(exhausted)) => {
            assert_eq!((exhausted.what(), exhausted.attempts()), (Spent::ShuttingDown, 1));
            assert_eq!(exhausted.last_signal().unwrap().status.map(|status| status.as_u16()), Some(429));
        }
        other => panic!("{other:?}"),
    }
}
