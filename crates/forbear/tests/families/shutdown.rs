//! A shutdown: every wait ends, nobody is sent for it, and what needs no wait goes on.

use std::time::Duration;

use forbear::error::Spent;
use forbear::{
    BudgetLayer, Error, Families, Family, FamilyCooldownLayer, HealthPhase, NoWait, RefusalCause,
    RetryAfterLayer, Unknown, stack,
};
use futures_util::future::join_all;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tower::{Layer, Service, ServiceBuilder, ServiceExt};

use crate::common::{Client, SECOND, Sent, answer, get, limited, with};

const REGISTERED: &str = "http://vendor.test";
const AUTOMATIC: &str = "http://other.test";

fn vendor() -> Family {
    Family::new("vendor").host("vendor.test")
}

fn families() -> Families {
    Families::builder().family(vendor()).build().unwrap()
}

/// Starts `callers` calls of `url`.
fn calls<S>(service: &S, callers: usize, url: &str) -> Vec<JoinHandle<Result<S::Response, Error>>>
where
    S: Service<http::Request<Sent>, Error = Error, Future: Send, Response: Send> + Clone + Send + 'static,
{
    (0..callers).map(|_| tokio::spawn(service.clone().oneshot(get(url)))).collect()
}

/// Why it was refused; `None` where it was not.
fn cause<R>(outcome: &Result<R, Error>) -> Option<RefusalCause> {
    match outcome {
        Err(Error::Cooling(cooling)) => Some(cooling.cause()),
        _ => None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_parked_callers_end_at_once_and_nobody_is_sent() {
    let families = families();
    let client = Client::new([limited(429, 300), limited(429, 300), answer(200)]);
    let service = stack(&families).budget(600 * SECOND).layer(client.clone());
    for host in [REGISTERED, AUTOMATIC] {
        let told = service.clone().oneshot(with(get(&format!("{host}/told")), NoWait)).await;
        assert_eq!(told.unwrap().status(), 429);
    }
    // At the gate of each family, and for the recorded deadline of a URL of each.
    let urls = [(REGISTERED, "/other"), (AUTOMATIC, "/other"), (REGISTERED, "/told"), (AUTOMATIC, "/told")];
    let waiting: Vec<_> =
        urls.iter().flat_map(|(host, path)| calls(&service, 250, &format!("{host}{path}"))).collect();
    sleep(SECOND).await;
    assert!(waiting.iter().all(|call| !call.is_finished()));
    let start = Instant::now();
    families.shutdown();
    let mut texts = Vec::new();
    for outcome in join_all(waiting).await.into_iter().map(Result::unwrap) {
        assert_eq!(cause(&outcome), Some(RefusalCause::ShuttingDown));
        let Err(Error::Cooling(cooling)) = outcome else { continue };
        assert_eq!(cooling.reason().as_str(), "shutting-down");
        assert_eq!(cooling.retry_in(), Some(299 * SECOND));
        texts.push(cooling.to_string());
    }
    assert!(start.elapsed().is_zero(), "{:?}", start.elapsed());
    texts.dedup();
    assert_eq!(
        texts,
        [
            "vendor is not waited for: this process shuts down; retry in 4m59s (429 retry-after via /told)",
            "other.test is not waited for: this process shuts down; retry in 4m59s (429 retry-after via /told)",
            "vendor is not waited for: this process shuts down; retry in 4m59s (shutting-down)",
            "other.test is not waited for: this process shuts down; retry in 4m59s (shutting-down)",
        ]
    );
    // Nor is anybody sent later.
    sleep(600 * SECOND).await;
    assert_eq!(client.sent(), 2);
    assert!(families.health().families.iter().all(|family| family.waiting == 0));
}

#[tokio::test(start_paused = true)]
async fn a_caller_whose_answer_was_let_go_ends_with_its_budget() {
    // Where no family's gate knows the host, too.
    for unknown in [Unknown::PerHost, Unknown::PassThrough] {
        let families = Families::builder().unknown(unknown).build().unwrap();
        let client = Client::new([limited(429, 30)]);
        let service = stack(&families).budget(60 * SECOND).layer(client.clone());
        let waiting = tokio::spawn(service.clone().oneshot(get(AUTOMATIC)));
        sleep(SECOND).await;
        let start = Instant::now();
        families.shutdown();
        let outcome = waiting.await.unwrap();
        let Err(Error::BudgetExhausted(exhausted)) = &outcome else { panic!("{outcome:?}") };
        assert_eq!((exhausted.what(), exhausted.attempts()), (Spent::ShuttingDown, 1));
        assert_eq!(exhausted.last_signal().unwrap().delay.unwrap().duration, 30 * SECOND);
        assert_eq!(
            exhausted.to_string(),
            "budget exhausted after 1.0s and 1 attempt: the process shuts down; \
             last signal 429 retry-after, retry after 30s"
        );
        assert_eq!((start.elapsed(), client.sent()), (Duration::ZERO, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_in_flight_is_judged_and_those_that_wait_for_it_are_refused() {
    let families = families();
    let client = Client::new([limited(429, 5), answer(200).delay(SECOND / 10), answer(200)]);
    let service = stack(&families).budget(60 * SECOND).layer(client.clone());
    let told = service.clone().oneshot(with(get("http://vendor.test/told"), NoWait)).await;
    assert_eq!(told.unwrap().status(), 429);
    sleep(6 * SECOND).await;
    let probe = tokio::spawn(service.clone().oneshot(get("http://vendor.test/probe")));
    sleep(SECOND / 100).await;
    let waiting = calls(&service, 100, "http://vendor.test/waits");
    sleep(SECOND / 100).await;
    assert_eq!(families.health().family("vendor").unwrap().waiting, 100);
    families.shutdown();
    for outcome in join_all(waiting).await {
        assert_eq!(cause(&outcome.unwrap()), Some(RefusalCause::ShuttingDown));
    }
    assert!(!probe.is_finished());
    assert_eq!(probe.await.unwrap().unwrap().status(), 200);
    assert_eq!(families.health().family("vendor").unwrap().phase, HealthPhase::Recovering);
    assert_eq!(service.oneshot(get("http://vendor.test/next")).await.unwrap().status(), 200);
    assert_eq!(client.sent(), 3);
}

#[tokio::test(start_paused = true)]
async fn later_calls_pass_where_they_need_not_wait_and_are_refused_where_they_would() {
    let families = families();
    let client = Client::new([answer(200), limited(429, 30)]);
    let service = stack(&families).budget(60 * SECOND).layer(client.clone());
    families.shutdown();
    let start = Instant::now();
    assert_eq!(service.clone().oneshot(get("http://vendor.test/a")).await.unwrap().status(), 200);
    let limited = service.clone().oneshot(get("http://vendor.test/a")).await.unwrap();
    assert_eq!(limited.status(), 429, "the vendor's answer is not let go for a wait that cannot be");
    let recorded = service.clone().oneshot(get("http://vendor.test/a")).await;
    let at_the_gate = service.clone().oneshot(get("http://vendor.test/b")).await;
    assert_eq!([cause(&recorded), cause(&at_the_gate)], [Some(RefusalCause::ShuttingDown); 2]);
    // Who would not have waited is told what it always is.
    let not_waiting = service.oneshot(with(get("http://vendor.test/b"), NoWait)).await;
    assert_eq!(cause(&not_waiting), Some(RefusalCause::Cooling));
    assert_eq!((start.elapsed(), client.sent()), (Duration::ZERO, 2));
}

#[tokio::test(start_paused = true)]
async fn callers_of_a_family_that_was_removed_end_too_and_another_programs_wait_on() {
    let (ours, theirs) = (families(), families());
    let client = Client::new([limited(429, 30), limited(429, 30), answer(200)]);
    let [one, other] =
        [&ours, &theirs].map(|families| stack(families).budget(60 * SECOND).layer(client.clone()));
    let mut waiting = Vec::new();
    for service in [&one, &other] {
        let told = service.clone().oneshot(with(get("http://vendor.test/told"), NoWait)).await;
        assert_eq!(told.unwrap().status(), 429);
        waiting.push(calls(service, 1, "http://vendor.test/told"));
        waiting.push(calls(service, 1, "http://vendor.test/other"));
    }
    sleep(SECOND).await;
    ours.remove("vendor").unwrap();
    ours.shutdown();
    let mut outcomes = join_all(waiting.into_iter().flatten()).await.into_iter().map(Result::unwrap);
    for _ in 0..2 {
        assert_eq!(cause(&outcomes.next().unwrap()), Some(RefusalCause::ShuttingDown));
    }
    assert!(outcomes.all(|outcome| outcome.unwrap().status() == 200));
    assert!(!theirs.health().shutting_down);
}

#[tokio::test(start_paused = true)]
async fn layers_by_hand_are_told_too() {
    let families = families();
    let client = Client::new([limited(429, 30)]);
    let service = ServiceBuilder::new()
        .layer(BudgetLayer::new(60 * SECOND))
        .layer(RetryAfterLayer::new())
        .layer(FamilyCooldownLayer::new(families.clone()))
        .service(client);
    let told = service.clone().oneshot(with(get("http://vendor.test/a"), NoWait)).await;
    assert_eq!(told.unwrap().status(), 429);
    let waiting = calls(&service, 1, "http://vendor.test/a");
    sleep(SECOND).await;
    families.shutdown();
    let start = Instant::now();
    for outcome in join_all(waiting).await {
        assert_eq!(cause(&outcome.unwrap()), Some(RefusalCause::ShuttingDown));
    }
    assert!(start.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn health_says_so_and_once_is_as_good_as_twice() {
    let families = families();
    let mut changes = families.changes();
    assert!(changes.next().await.ready);
    families.shutdown();
    let health = changes.next().await;
    assert_eq!((health.ready, health.shutting_down), (false, true));
    assert_eq!(health.to_string(), "shutting down: nobody waits\nvendor  open");
    families.shutdown();
    assert!(families.health().shutting_down);
}
