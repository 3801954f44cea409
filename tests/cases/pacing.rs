//! Attempts keep to the limits of their family, whoever sends them again, and however many wait.

use std::future::{Ready, ready};

use forbear::body::Replay;
use forbear::{BudgetLayer, Error, FamilyCooldownLayer, Pacing, PacingLayer, RetryAfterLayer, RetryQuota};
use forbear_mock::{Limiter, MockVendor, cycle, reply};
use http::{Request, Response, StatusCode};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use tower::retry::{Policy, RetryLayer};
use tower::{Service, ServiceBuilder, ServiceExt};

use crate::support::{
    Body, Held, MILLISECOND, SECOND, answer, get, impatient, limited, paced, settle, stacked,
};

/// Sends again, at once, whatever was answered with this status, so many times.
#[derive(Clone)]
struct Again {
    status: u16,
    left: u32,
}

impl<RB, E> Policy<Request<Replay<Body>>, Response<RB>, E> for Again {
    type Future = Ready<()>;

    fn retry(
        &mut self,
        next: &mut Request<Replay<Body>>,
        result: &mut Result<Response<RB>, E>,
    ) -> Option<Ready<()>> {
        let again = result.as_ref().is_ok_and(|response| response.status() == self.status);
        if !again || !next.body().replayable() {
            return None;
        }
        self.left = self.left.checked_sub(1)?;
        Some(ready(()))
    }

    fn clone_request(&mut self, request: &Request<Replay<Body>>) -> Option<Request<Replay<Body>>> {
        let mut next = Request::new(request.body().try_clone()?);
        next.uri_mut().clone_from(request.uri());
        next.extensions_mut().clone_from(request.extensions());
        Some(next)
    }
}

// awslabs/aws-sdk-rust#1234: after a refactor the bucket was not there any more, and attempts alone bounded retries. Here
// `tower::retry` stands at its place between the layers.
#[tokio::test(start_paused = true)]
async fn a_thousand_calls_send_no_more_than_the_retry_quota_allows() {
    const CALLS: usize = 1_000;
    const RESERVE: usize = 50;
    // Ratio 0.2. Always 500; and every other answer is good.
    for (script, good) in [(vec![reply(500)], false), (vec![reply(500), reply(200)], true)] {
        let mock = MockVendor::in_process().script(cycle(script));
        let quota = RetryQuota::new(u32::try_from(RESERVE).unwrap()).permille(200).at_most(u32::MAX);
        let families = paced(Pacing::new().retry_quota(quota));
        let vendor = ServiceBuilder::new()
            .layer(BudgetLayer::new(30 * SECOND))
            .layer(RetryAfterLayer::new())
            .layer(RetryLayer::new(Again { status: 500, left: 9 }))
            .layer(PacingLayer::new(families.clone()))
            .layer(FamilyCooldownLayer::new(families.clone()))
            .service(mock.service());
        let mut refused = 0;
        for _ in 0..CALLS {
            match vendor.clone().oneshot(get("/")).await {
                Ok(response) => assert!([200, 500].contains(&response.status().as_u16())),
                Err(error) => {
                    assert!(error.is_refusal(), "{error:?}");
                    refused += 1;
                }
            }
        }
        let sent = mock.attempts().len();
        let served =
            mock.attempts().iter().filter(|attempt| attempt.status() == Some(StatusCode::OK)).count();
        assert_eq!(served > 0, good);
        assert!(sent <= CALLS + served / 5 + RESERVE, "{sent} attempts, {served} good");
        if good {
            assert!(sent > CALLS, "{sent}");
        } else {
            // The reserve is used, and it is the quota that ends it: the other calls are not sent again.
            assert_eq!(sent, CALLS + RESERVE);
            assert!(refused > CALLS * 9 / 10, "{refused}");
        }
        assert_eq!(families.health().family("vendor").unwrap().attempts, sent as u64);
    }
}

// kubernetes/kubernetes#34938, kubernetes/client-go#222: retries went past the client's own limiter.
#[tokio::test(start_paused = true)]
async fn what_is_sent_again_keeps_to_ten_a_second_too() {
    async fn swarm<S, RB>(vendor: S, callers: usize)
    where
        S: Service<Request<Body>, Response = Response<RB>, Error = Error> + Clone + Send + 'static,
        S::Future: Send,
        RB: Send + 'static,
    {
        let mut calls = JoinSet::new();
        for _ in 0..callers {
            let call = vendor.clone().oneshot(get("/"));
            calls.spawn(async move { call.await.map(|_| ()) });
        }
        let _ = calls.join_all().await;
    }
    let pacing = || paced(Pacing::new().at_most(10, SECOND));

    // `tower::retry` asks again at once, six times.
    let mock = MockVendor::in_process().script(reply(429));
    let layers = ServiceBuilder::new()
        .layer(RetryAfterLayer::new())
        .layer(RetryLayer::new(Again { status: 429, left: 6 }))
        .layer(PacingLayer::new(pacing()));
    swarm(layers.service(mock.service()), 30).await;
    mock.attempts().assert_rate_at_most(10, SECOND);
    let sent = mock.attempts();
    assert!(sent.len() >= 30 * 7, "{}", sent.len());
    let took = sent.last().unwrap().since();
    // All at the pace that the limit allows: ten at once, then ten a second.
    let least = (sent.len() as u32).div_ceil(10) - 1;
    assert!(took <= least * SECOND * 102 / 100, "{} in {took:?}", sent.len());

    // `RetryAfterLayer` alone, and with the gate, which lets next to nobody through.
    for gated in [false, true] {
        let families = pacing();
        let mock = MockVendor::in_process().script(reply(429).header("retry-after-ms", "10"));
        let layers = ServiceBuilder::new()
            .layer(BudgetLayer::new(20 * SECOND))
            .layer(RetryAfterLayer::new())
            .layer(PacingLayer::new(families.clone()));
        if gated {
            swarm(layers.layer(FamilyCooldownLayer::new(families)).service(mock.service()), 30).await;
        } else {
            swarm(layers.service(mock.service()), 30).await;
        }
        mock.attempts().assert_rate_at_most(10, SECOND);
        let sent = mock.attempts().len();
        assert_eq!(sent > 30, !gated, "{sent}, gated: {gated}");
    }
}

// serenity-rs/serenity#2781: when the window ended everybody who had waited came at once, for 10,000 more 429s and a ban.
#[tokio::test(start_paused = true)]
async fn five_thousand_parked_callers_never_meet_the_limit_again() {
    const PARKED: usize = 5_000;
    let mock = MockVendor::in_process().limit(Limiter::sliding_window(50, 10 * SECOND)).script(reply(200));
    let families = paced(Pacing::new().at_most(50, 10 * SECOND));
    let vendor = stacked(&families, 2_000 * SECOND, &mock);
    // Somebody else with the same key has used the window up.
    for _ in 0..50 {
        let other = Request::get("http://vendor.test/other").body(Body::default()).unwrap();
        assert_eq!(mock.service().oneshot(other).await.unwrap().status(), StatusCode::OK);
    }
    let told = vendor.send(impatient("/")).await.unwrap();
    assert_eq!((told.status().as_u16(), told.headers()["retry-after"].to_str().unwrap()), (429, "10"));
    let start = Instant::now();
    let mut calls = JoinSet::new();
    for number in 0..PARKED {
        let vendor = vendor.clone();
        calls.spawn(async move {
            vendor.send(get(&format!("/{}", number % 100))).await.map(|answer| answer.status())
        });
    }
    sleep(SECOND).await;
    assert_eq!(families.health().family("vendor").unwrap().waiting, PARKED);
    let ended = calls.join_all().await;
    assert!(ended.iter().all(|ended| matches!(ended, Ok(StatusCode::OK))), "all are served");
    assert_eq!(mock.attempts().refused().len(), 1, "none but the one that told");
    mock.attempts().accepted().assert_rate_at_most(50, 10 * SECOND);
    // And what the limit allows is used, after the ten seconds that were asked for.
    let (took, least) = (start.elapsed(), 10 * SECOND + 10 * SECOND * (PARKED as u32 / 50 - 1));
    assert!(took <= least * 105 / 100, "{took:?} of {least:?}");
}

// octokit/plugin-throttling.js#629: one request waited, and those in the queue went on into the same limit.
#[tokio::test(start_paused = true)]
async fn who_is_queued_goes_nowhere_while_the_family_cools() {
    let held = Held::default();
    let families = paced(Pacing::new().gap(SECOND));
    let vendor = forbear::stack(&families).budget(600 * SECOND).service(held.client());
    let mut calls = JoinSet::new();
    let mut send = |path: &str| {
        let (vendor, request) = (vendor.clone(), get(path));
        calls.spawn(async move { vendor.send(request).await.map(|answer| answer.status()) });
    };
    send("/first");
    settle().await;
    (0..20).for_each(|_| send("/queued"));
    sleep(500 * MILLISECOND).await;
    let pacing = || families.health().family("vendor").unwrap().pacing.clone().unwrap();
    assert_eq!((held.sent(), pacing().queued), (1, 20));
    held.answer(0, limited("60"));
    settle().await;
    assert_eq!(pacing().queued, 0, "the strike empties the queue");
    sleep(60 * SECOND - MILLISECOND).await;
    assert_eq!(held.sent(), 1, "sent before the 60 s are over");
    let mut answered = 1;
    while !calls.is_empty() {
        sleep(100 * MILLISECOND).await;
        while answered < held.sent() {
            held.answer(answered, answer(200));
            answered += 1;
        }
        settle().await;
        while let Some(ended) = calls.try_join_next() {
            assert_eq!(ended.unwrap().unwrap(), StatusCode::OK);
        }
    }
    assert_eq!(answered, 22, "each of the 21 was served, the first at its second attempt");
}
