//! What every layer owes.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use forbear::{Error, Families, Family, Pacing};
use futures_util::FutureExt;
use http::{Request, Response};
use http_body_util::Full;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep};
use tower::buffer::Buffer;
use tower::limit::ConcurrencyLimit;
use tower::{ServiceExt, service_fn};
use tower_test::mock::{self, Handle};

use crate::common::{
    Client, Failed, MS, SECOND, Sent, answer, called, fails, get, hangs, panics, panics_in_call, poll_once,
};
use crate::{URL, crowd, families, gated, paced, service};

#[tokio::test(start_paused = true)]
async fn readiness_is_the_inner_services_and_reserves_nothing() {
    let families = families(Pacing::new().gap(SECOND).in_flight(1));
    let (mut service, mut vendor) = mock::spawn_with(|inner| crate::service(&families, inner));
    let vendor: &mut Handle<Request<Sent>, Response<Full<Bytes>>> = &mut vendor;
    vendor.allow(0);
    assert!(service.poll_ready().is_pending());
    vendor.allow(1);
    assert!(service.is_woken());
    assert!(matches!(service.poll_ready(), Poll::Ready(Ok(()))));
    assert_eq!(paced(&families).in_flight, Some(0));
    // It is the readied service that is called.
    vendor.allow(0);
    let call = tokio::spawn(service.call(get(URL)));
    let (_, respond) = vendor.next_request().await.unwrap();
    respond.send_response(Response::new(Full::default()));
    assert_eq!(call.await.unwrap().unwrap().status(), 200);
    vendor.send_error("gone");
    assert!(matches!(service.poll_ready(), Poll::Ready(Err(Error::Client(_)))));
}

/// A permit is held by nobody that waits: with one for all, who is next finds it free.
#[tokio::test(start_paused = true)]
async fn readiness_is_given_up_while_it_waits_and_got_again_after() {
    let (client, permits) = (Client::new([answer(200).delay(10 * MS)]), Arc::new(Semaphore::new(1)));
    let limit = ConcurrencyLimit::with_semaphore(client.clone(), Arc::clone(&permits));
    let families = families(Pacing::new().gap(SECOND));
    let mut service = service(&families, limit);
    let _ = service.clone().oneshot(get(URL)).await.unwrap();
    let mut waits = Box::pin(called(&mut service, get(URL)).await);
    assert_eq!(permits.available_permits(), 0);
    assert!(poll_once(waits.as_mut()).is_pending());
    assert_eq!(permits.available_permits(), 1);
    // When its turn comes somebody else has the permit: nobody takes its turn meanwhile, nor comes too close after it.
    let other = Arc::clone(&permits).acquire_owned().await.unwrap();
    let waits = tokio::spawn(waits);
    let next = tokio::spawn(service.clone().oneshot(get(URL)));
    sleep(1500 * MS).await;
    assert_eq!(client.sent(), 1);
    drop(other);
    assert_eq!(waits.await.unwrap().unwrap().status(), 200);
    assert_eq!(next.await.unwrap().unwrap().status(), 200);
    let gaps = client.gaps();
    assert!(gaps[0] >= 1490 * MS && gaps[0] <= 1520 * MS && gaps[1] >= SECOND, "{gaps:?}");
}

/// `poll_ready` of a buffer takes one of its slots: one that waited in the queue with it would stop all others.
#[tokio::test(start_paused = true)]
async fn a_buffer_of_one_is_not_blocked_by_who_waits() {
    let client = Client::new([answer(200)]);
    let (paced, free) = ("http://vendor.test/a", "http://free.test/a");
    let families = Families::builder()
        .family(Family::new("vendor").host("vendor.test").pacing(Pacing::new().gap(10 * SECOND)))
        .family(Family::new("free").host("free.test"))
        .build()
        .unwrap();
    let service = gated(&families, Buffer::new(client.clone(), 1));
    let _ = service.clone().oneshot(get(paced)).await.unwrap();
    let waits: Vec<_> = (0..3).map(|_| tokio::spawn(service.clone().oneshot(get(paced)))).collect();
    sleep(SECOND).await;
    let start = Instant::now();
    for _ in 0..20 {
        assert_eq!(service.clone().oneshot(get(free)).await.unwrap().status(), 200);
    }
    assert!(start.elapsed().is_zero());
    for wait in waits {
        assert_eq!(wait.await.unwrap().unwrap().status(), 200);
    }
    assert_eq!(client.sent(), 24);
}

#[tokio::test(start_paused = true)]
async fn clones_share_state() {
    let (families, client) = (families(Pacing::new().gap(SECOND)), Client::new([answer(200)]));
    let one = service(&families, client.clone());
    let other = service(&families.clone(), client.clone());
    let apart = service(&crate::families(Pacing::new().gap(SECOND)), client.clone());
    let sends = [one.clone().oneshot(get(URL)), one.oneshot(get(URL)), other.oneshot(get(URL))];
    let start = Instant::now();
    let _ = crowd::all(sends).await;
    assert_eq!(client.gaps(), [SECOND, SECOND]);
    let _ = apart.oneshot(get(URL)).await.unwrap();
    assert_eq!(start.elapsed(), 2 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn drop_while_pending_and_drop_after_ready_hold_nothing() {
    let (client, permits) = (Client::new([hangs()]), Arc::new(Semaphore::new(1)));
    let families = families(Pacing::new().in_flight(1));
    let service = service(&families, ConcurrencyLimit::with_semaphore(client, Arc::clone(&permits)));
    let mut readied = service.clone();
    ServiceExt::<Request<Sent>>::ready(&mut readied).await.unwrap();
    drop(readied);
    assert_eq!((permits.available_permits(), paced(&families).in_flight), (1, Some(0)));
    let mut hanging = Box::pin(service.clone().oneshot(get(URL)));
    assert!(poll_once(hanging.as_mut()).is_pending());
    assert_eq!((permits.available_permits(), paced(&families).in_flight), (0, Some(1)));
    drop(hanging);
    assert_eq!((permits.available_permits(), paced(&families).in_flight), (1, Some(0)));
}

#[tokio::test(start_paused = true)]
async fn inner_error_is_returned_and_was_an_attempt() {
    let (families, client) = (families(Pacing::new().gap(SECOND).in_flight(1)), Client::new([fails()]));
    let service = gated(&families, client.clone());
    for _ in 0..2 {
        let error = service.clone().oneshot(get(URL)).await.unwrap_err();
        assert!(matches!(&error, Error::Client(inner) if inner.is::<Failed>()), "{error:?}");
        assert_eq!(paced(&families).in_flight, Some(0));
    }
    assert_eq!(client.gaps(), [SECOND]);
}

#[tokio::test(start_paused = true)]
async fn panics_inside_pass_through_and_end_what_is_in_flight() {
    for act in [panics(), panics_in_call()] {
        for queued in [false, true] {
            let pacing = Pacing::new().gap(SECOND).in_flight(2);
            let (families, client) = (families(pacing), Client::new([answer(200), act]));
            let service = gated(&families, client.clone());
            if queued {
                let _ = service.clone().oneshot(get(URL)).await.unwrap();
            } else {
                client.play([act]);
            }
            let panicked = AssertUnwindSafe(service.clone().oneshot(get(URL))).catch_unwind().await;
            assert!(panicked.is_err());
            assert_eq!((paced(&families).in_flight, paced(&families).queued), (Some(0), 0));
            client.play([answer(200)]);
            assert_eq!(service.oneshot(get(URL)).await.unwrap().status(), 200);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn configuration_edges_pacing_comes_and_goes_while_attempts_wait() {
    let families = families(Pacing::new().gap(40 * SECOND));
    let client = Client::new([answer(200)]);
    let service = gated(&families, client.clone());
    let _ = service.clone().oneshot(get(URL)).await.unwrap();
    let start = Instant::now();
    let waits = tokio::spawn(service.clone().oneshot(get(URL)));
    sleep(SECOND).await;
    families.replace(Family::new("vendor").host("vendor.test")).unwrap();
    assert_eq!(waits.await.unwrap().unwrap().status(), 200);
    assert_eq!(start.elapsed(), SECOND);
    assert!(families.health().family("vendor").unwrap().pacing.is_none());
    let paced = Family::new("vendor").host("vendor.test").pacing(Pacing::new().gap(2 * SECOND));
    families.replace(paced).unwrap();
    let _ = crowd::all((0..3).map(|_| service.clone().oneshot(get(URL)))).await;
    assert!(client.gaps()[2..].iter().all(|gap| *gap >= 2 * SECOND), "{:?}", client.gaps());
}

#[tokio::test(start_paused = true)]
async fn shadow_mode_delays_nothing_and_counts_who_would_have_waited() {
    let families = families(Pacing::new().gap(10 * SECOND).queue(1));
    families.shadow(true);
    let inner =
        service_fn(|_: Request<Sent>| async { Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())) });
    let service = gated(&families, inner);
    let start = Instant::now();
    for _ in 0..5 {
        assert_eq!(service.clone().oneshot(get(URL)).await.unwrap().status(), 200);
    }
    assert!(start.elapsed().is_zero());
    assert_eq!((paced(&families).waited, paced(&families).queued), (4, 0));
}
