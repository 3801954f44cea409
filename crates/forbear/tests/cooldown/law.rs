//! What every layer owes.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use forbear::{Error, Families, Family, Ladder, Unknown};
use futures_util::FutureExt;
use http::{Request, Response};
use http_body_util::Full;
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tower::ServiceExt;
use tower::limit::ConcurrencyLimit;
use tower_test::mock::{self, Handle};

use crate::common::{
    Client, Failed, SECOND, Sent, answer, called, cut, cut_when_woken, fails, get, hangs, limited, panics,
    panics_in_call,
};
use crate::{URL, families, phase, refusal, service};

/// A family whose cool-down of one second has just ended.
async fn due(client: &Client) -> Families {
    let families = families();
    client.play([limited(429, 1)]);
    let _ = service(&families, client.clone()).oneshot(get(URL)).await.unwrap();
    sleep(SECOND).await;
    families
}

#[tokio::test(start_paused = true)]
async fn readiness_is_the_inner_services_whatever_the_gate_says() {
    let families = families();
    let (mut service, mut vendor) = mock::spawn_with(|inner| crate::service(&families, inner));
    let vendor: &mut Handle<Request<Sent>, Response<Full<Bytes>>> = &mut vendor;
    vendor.allow(0);
    assert!(service.poll_ready().is_pending());
    vendor.allow(1);
    assert!(service.is_woken());
    assert!(matches!(service.poll_ready(), Poll::Ready(Ok(()))));
    let call = tokio::spawn(service.call(get(URL)));
    let (_, respond) = vendor.next_request().await.unwrap();
    let limited = Response::builder().status(429).header("retry-after", 1);
    respond.send_response(limited.body(Full::default()).unwrap());
    assert_eq!(call.await.unwrap().unwrap().status(), 429);
    // Cooling: still the client's readiness, and it is the readied service that is called with the probe.
    vendor.allow(0);
    assert!(service.poll_ready().is_pending());
    vendor.allow(1);
    assert!(matches!(service.poll_ready(), Poll::Ready(Ok(()))));
    sleep(SECOND).await;
    let call = tokio::spawn(service.call(get(URL)));
    let (_, respond) = vendor.next_request().await.unwrap();
    respond.send_response(Response::new(Full::default()));
    assert_eq!(call.await.unwrap().unwrap().status(), 200);
    vendor.send_error("gone");
    assert!(matches!(service.poll_ready(), Poll::Ready(Err(Error::Client(_)))));
}

#[tokio::test(start_paused = true)]
async fn readiness_is_given_up_with_a_refusal() {
    let (client, permits) = (Client::new([limited(429, 60)]), Arc::new(Semaphore::new(1)));
    let limit = ConcurrencyLimit::with_semaphore(client, Arc::clone(&permits));
    let mut service = service(&families(), limit);
    assert_eq!(service.clone().oneshot(get(URL)).await.unwrap().status(), 429);
    for uri in [URL, "http://unknown.test/"] {
        assert!(called(&mut service, get(uri)).await.await.unwrap_err().is_refusal());
        assert_eq!(permits.available_permits(), 1, "{uri}");
    }
}

#[tokio::test(start_paused = true)]
async fn clones_share_state() {
    let families = families();
    let client = Client::new([limited(429, 5)]);
    let one = service(&families, client.clone());
    let other = service(&families.clone(), client.clone());
    let apart = service(&crate::families(), client.clone());
    assert_eq!(one.clone().oneshot(get(URL)).await.unwrap().status(), 429);
    assert!(refusal(one.oneshot(get(URL)).await).is_some());
    assert!(refusal(other.oneshot(get(URL)).await).is_some());
    assert_eq!(apart.oneshot(get(URL)).await.unwrap().status(), 429);
    assert_eq!(client.sent(), 2);
}

#[tokio::test(start_paused = true)]
async fn drop_while_pending_is_no_news_of_an_open_family() {
    let (families, client) = (families(), Client::new([hangs()]));
    assert!(cut(service(&families, client.clone()).oneshot(get(URL)), 1).await.is_none());
    assert_eq!((client.in_flight(), phase(&families, "vendor").as_str()), (0, "open"));
}

#[tokio::test(start_paused = true)]
async fn drop_while_pending_ends_the_probe_and_the_next_waits_a_second() {
    let client = Client::new([]);
    let families = due(&client).await;
    client.play([hangs()]);
    assert!(cut(service(&families, client.clone()).oneshot(get(URL)), 1).await.is_none());
    assert_eq!((client.in_flight(), phase(&families, "vendor").as_str()), (0, "probing"));
    let cooling = refusal(service(&families, client.clone()).oneshot(get(URL)).await).unwrap();
    assert_eq!(cooling.retry_in(), Some(SECOND));
    sleep(SECOND).await;
    client.play([answer(200)]);
    assert_eq!(service(&families, client).oneshot(get(URL)).await.unwrap().status(), 200);
    assert_eq!(phase(&families, "vendor"), "recovering");
}

#[tokio::test(start_paused = true)]
async fn drop_after_ready_gives_the_permit_back_and_takes_no_probe() {
    let (client, permits) = (Client::new([]), Arc::new(Semaphore::new(1)));
    let families = due(&client).await;
    client.play([answer(200)]);
    let limit = ConcurrencyLimit::with_semaphore(client, Arc::clone(&permits));
    let service = service(&families, limit);
    let mut readied = service.clone();
    ServiceExt::<Request<Sent>>::ready(&mut readied).await.unwrap();
    assert_eq!(permits.available_permits(), 0);
    drop(readied);
    // A call that is never polled takes no probe either.
    drop(called(&mut service.clone(), get(URL)).await);
    assert_eq!(permits.available_permits(), 1);
    assert_eq!(service.oneshot(get(URL)).await.unwrap().status(), 200);
}

#[tokio::test(start_paused = true)]
async fn inner_error_is_returned_and_no_news_of_the_vendor() {
    let client = Client::new([]);
    let families = due(&client).await;
    client.play([fails()]);
    let error = service(&families, client.clone()).oneshot(get(URL)).await.unwrap_err();
    assert!(matches!(&error, Error::Client(inner) if inner.is::<Failed>()), "{error:?}");
    let health = families.health();
    assert_eq!(health.family("vendor").unwrap().strikes, 1);
    let cooling = refusal(service(&families, client).oneshot(get(URL)).await).unwrap();
    assert_eq!(cooling.retry_in(), Some(SECOND));
}

#[tokio::test(start_paused = true)]
async fn panics_inside_pass_through_and_end_the_probe() {
    for (act, gap) in [(panics(), 1), (panics().polls(1), 1), (panics_in_call(), 0)] {
        let client = Client::new([]);
        let families = due(&client).await;
        client.play([act, answer(200)]);
        let call = AssertUnwindSafe(service(&families, client.clone()).oneshot(get(URL)));
        assert!(call.catch_unwind().await.is_err());
        assert_eq!((client.in_flight(), phase(&families, "vendor").as_str()), (0, "probing"));
        sleep(gap * SECOND).await;
        assert_eq!(service(&families, client).oneshot(get(URL)).await.unwrap().status(), 200, "{act:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn configuration_edges_no_families_at_all() {
    let client = Client::new([answer(200)]);
    for (unknown, sent) in [(Unknown::PerHost, true), (Unknown::PassThrough, true), (Unknown::Refuse, false)]
    {
        let families = Families::builder().unknown(unknown).build().unwrap();
        for uri in [URL, "/relative", "http://[::1]:8080/"] {
            let answer = service(&families, client.clone()).oneshot(get(uri)).await;
            assert_eq!(answer.is_ok(), sent, "{unknown:?} {uri}");
        }
        assert_eq!(families.health().to_string(), "");
    }
}

#[tokio::test(start_paused = true)]
async fn configuration_edges_a_family_without_hosts_is_called_by_its_name() {
    let families = Families::builder().family(Family::new("x")).build().unwrap();
    let service = service(&families, Client::new([limited(429, 5)]));
    let named = || crate::common::with(get("/"), forbear::FamilyName::from_static("x"));
    assert_eq!(service.clone().oneshot(named()).await.unwrap().status(), 429);
    assert!(refusal(service.oneshot(named()).await).is_some());
}

#[tokio::test(start_paused = true)]
async fn configuration_edges_a_ladder_of_one_rung_and_the_longest_delay() {
    let family = Family::new("vendor").host("vendor.test").throttled_ladder(Ladder::new([7 * SECOND]));
    let families = Families::builder().family(family).build().unwrap();
    let client = Client::new([answer(429)]);
    for _ in 0..9 {
        let answer = service(&families, client.clone()).oneshot(get(URL)).await.unwrap();
        assert_eq!(answer.extensions().get::<forbear::Signal>().unwrap().retry_in(), Some(7 * SECOND));
        sleep(7 * SECOND).await;
    }
    client.play([limited(429, u64::MAX)]);
    let _ = service(&families, client.clone()).oneshot(get(URL)).await.unwrap();
    let cooling = refusal(service(&families, client).oneshot(get(URL)).await).unwrap();
    assert_eq!(cooling.retry_in(), Some(Duration::from_secs(86_400)));
    assert!(cooling.signal().unwrap().delay.unwrap().duration > 365 * 86_400 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn cancel_at_every_await_holds_nothing() {
    for late in [false, true] {
        for polls in 0.. {
            let client = Client::new([]);
            let families = due(&client).await;
            client.play([answer(200).polls(3)]);
            let permits = Arc::new(Semaphore::new(1));
            let limit = ConcurrencyLimit::with_semaphore(client.clone(), Arc::clone(&permits));
            let call = service(&families, limit).oneshot(get(URL));
            let done = if late { cut_when_woken(call, polls).await } else { cut(call, polls).await };
            assert_eq!((client.in_flight(), permits.available_permits()), (0, 1), "after {polls} polls");
            // No lease is held: at most the gap after a probe without news passes.
            sleep(if polls == 0 { Duration::ZERO } else { SECOND }).await;
            client.play([answer(200)]);
            assert_eq!(service(&families, client).oneshot(get(URL)).await.unwrap().status(), 200);
            if done.is_some() {
                assert!(polls > 3);
                break;
            }
        }
    }
}
