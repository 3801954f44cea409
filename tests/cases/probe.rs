//! However a probe ends, the next one may go out.

use std::future::{pending, ready};
use std::io;

use bytes::Bytes;
use forbear::body::Replay;
use forbear::{Error, Families, Family, GateSettings};
use forbear_core::health::HealthPhase;
use futures_util::stream;
use http::{Request, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tower::buffer::Buffer;
use tower::service_fn;

use crate::support::{
    Body, Client, MILLISECOND, SECOND, answer, client, get, impatient, limited, registered, settle,
};

/// How a probe ends.
#[derive(Debug, Clone, Copy)]
enum End {
    NotFound,
    Unauthorized,
    Fault,
    Upgrade,
    DecodeError,
    Panic,
    PanicInCall,
    Timeout,
    Cancelled,
    BudgetOver,
}

use End::{
    BudgetOver, Cancelled, DecodeError, Fault, NotFound, Panic, PanicInCall, Timeout, Unauthorized, Upgrade,
};

const ENDS: [End; 10] =
    [NotFound, Unauthorized, Fault, Upgrade, DecodeError, Panic, PanicInCall, Timeout, Cancelled, BudgetOver];

/// Answers 429, then ends the probe as told, then is well.
fn scripted(end: End) -> (Client, std::sync::Arc<std::sync::atomic::AtomicUsize>) {
    let sent = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&sent);
    let respond = move |_| {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        assert!(!(number == 1 && matches!(end, PanicInCall)), "the client panics when called");
        async move {
            match (number, end) {
                (0, _) => Ok(limited("2")),
                (1, NotFound) => Ok(answer(404)),
                (1, Unauthorized) => Ok(answer(401)),
                (1, Fault) => Ok(answer(500)),
                (1, Upgrade) => Ok(answer(101)),
                (1, DecodeError) => Err(io::Error::other("not HTTP at all")),
                (1, Panic) => unreachable!("the client panics inside"),
                (1, Timeout) => {
                    let never = pending::<io::Result<_>>();
                    tokio::time::timeout(100 * MILLISECOND, never).await?
                }
                (1, _) => pending().await,
                _ => Ok(answer(200)),
            }
        }
    };
    (client(respond), sent)
}

// getnora-io/nora#585: a probe that met neither success nor failure kept its place until the process was restarted.
#[tokio::test(start_paused = true)]
async fn however_a_probe_ends_the_next_request_may_probe() {
    for end in ENDS {
        let families = registered();
        let (client, sent) = scripted(end);
        let budget = if matches!(end, BudgetOver) { 100 * MILLISECOND } else { 60 * SECOND };
        let vendor = forbear::stack(&families).budget(budget).service(client);
        assert_eq!(vendor.send(impatient("/a")).await.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
        tokio::time::sleep(2 * SECOND).await;

        let probe = tokio::spawn({
            let vendor = vendor.clone();
            async move { vendor.send(impatient("/a")).await.map(|response| response.status()) }
        });
        tokio::time::sleep(100 * MILLISECOND).await;
        if matches!(end, Cancelled) {
            probe.abort();
        }
        let ended = probe.await;
        // Past the refusal window: who ended without news was not accepted by its silence.
        tokio::time::sleep(400 * MILLISECOND).await;
        let phase = families.health().family("vendor").unwrap().phase;
        let expected = if matches!(end, NotFound) { HealthPhase::Recovering } else { HealthPhase::Probing };
        assert_eq!(phase, expected, "after {end:?}");
        // The next probe waits at most a second.
        tokio::time::sleep(600 * MILLISECOND).await;
        let next = vendor.send(impatient("/a")).await;
        assert_eq!(next.unwrap().status(), StatusCode::OK, "after {end:?}: {ended:?}");
        assert_eq!(sent.load(std::sync::atomic::Ordering::Relaxed), 3);
        assert_eq!(families.health().family("vendor").unwrap().phase, HealthPhase::Recovering, "{end:?}");
    }
}

// getnora-io/nora#585: the same for callers that were waiting for the probe's verdict.
#[tokio::test(start_paused = true)]
async fn however_a_probe_ends_those_who_wait_are_served() {
    for end in ENDS.into_iter().filter(|end| !matches!(end, BudgetOver)) {
        let families = registered();
        let (client, _) = scripted(end);
        let vendor = forbear::stack(&families).budget(60 * SECOND).service(client);
        assert_eq!(vendor.send(impatient("/a")).await.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
        tokio::time::sleep(2 * SECOND).await;
        let send = |request| {
            let vendor = vendor.clone();
            tokio::spawn(async move { vendor.send(request).await.map(|response| response.status()) })
        };
        let probe = send(impatient("/a"));
        settle().await;
        let start = tokio::time::Instant::now();
        let waiting: Vec<_> = (0..10).map(|_| send(get("/b"))).collect();
        tokio::time::sleep(100 * MILLISECOND).await;
        if matches!(end, Cancelled) {
            probe.abort();
        }
        for waits in waiting {
            let served = waits.await.unwrap();
            assert!(matches!(served, Ok(StatusCode::OK)), "after {end:?}: {served:?}");
        }
        assert!(start.elapsed() < 3 * SECOND, "after {end:?}: {:?}", start.elapsed());
    }
}

// diegosouzapw/OmniRoute#13836: a probe that never settled kept a family closed for six days.
#[tokio::test(start_paused = true)]
async fn a_probe_that_never_settles_is_accepted_after_the_refusal_window() {
    let families = registered();
    let (client, sent) = scripted(Cancelled);
    let vendor = forbear::stack(&families).budget(3600 * SECOND).service(client);
    assert_eq!(vendor.send(impatient("/a")).await.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
    tokio::time::sleep(2 * SECOND).await;
    let stuck = tokio::spawn({
        let vendor = vendor.clone();
        async move { vendor.send(impatient("/a")).await.map(|response| response.status()) }
    });
    settle().await;
    let start = tokio::time::Instant::now();
    let refused = vendor.send(impatient("/b")).await;
    assert!(matches!(refused, Err(Error::Cooling(_))), "{refused:?}");
    assert_eq!(vendor.send(get("/b")).await.unwrap().status(), StatusCode::OK);
    assert!(start.elapsed() < SECOND, "{:?}", start.elapsed());
    assert_eq!(sent.load(std::sync::atomic::Ordering::Relaxed), 3);
    stuck.abort();
}

// diegosouzapw/OmniRoute#13836: a lease shorter than the refusal window ends by itself, too.
#[tokio::test(start_paused = true)]
async fn a_lease_that_is_over_makes_room_for_the_next_probe() {
    let settings = GateSettings::registered().attempt_timeout(100 * MILLISECOND);
    let family = Family::new("vendor").host("vendor.test").gate(settings);
    let families = Families::builder().family(family).build().unwrap();
    let (client, _) = scripted(Cancelled);
    let vendor = forbear::stack(&families).budget(3600 * SECOND).service(client);
    assert_eq!(vendor.send(impatient("/a")).await.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
    tokio::time::sleep(2 * SECOND).await;
    let stuck = tokio::spawn({
        let vendor = vendor.clone();
        async move { vendor.send(impatient("/a")).await.map(|response| response.status()) }
    });
    tokio::time::sleep(100 * MILLISECOND).await;
    let early = vendor.send(impatient("/b")).await;
    assert!(matches!(early, Err(Error::Cooling(_))), "{early:?}");
    tokio::time::sleep(SECOND).await;
    assert_eq!(vendor.send(impatient("/b")).await.unwrap().status(), StatusCode::OK);
    stuck.abort();
}

// getnora-io/nora#585: a body that broke off reported neither; here the verdict fell at the head, or at the look.
#[tokio::test(start_paused = true)]
async fn a_probe_whose_body_breaks_off_frees_its_place() {
    for (status, expected) in [(200, HealthPhase::Recovering), (503, HealthPhase::Probing)] {
        let families = registered();
        let mut sent = 0;
        let answers = move |_: Request<Replay<Body>>| {
            sent += 1;
            let head = match sent {
                1 => limited("2"),
                2 => answer(status),
                _ => answer(200),
            };
            let breaks = stream::iter([Ok(Frame::data(Bytes::from("{"))), Err(io::Error::other("reset"))]);
            ready(Ok::<_, io::Error>(head.map(|_| StreamBody::new(breaks))))
        };
        let client = Buffer::new(service_fn(answers), 8);
        let vendor = forbear::stack(&families).budget(60 * SECOND).service(client);
        assert_eq!(vendor.send(impatient("/a")).await.unwrap().status(), StatusCode::TOO_MANY_REQUESTS);
        tokio::time::sleep(2 * SECOND).await;
        let probe = vendor.send(impatient("/a")).await.unwrap();
        assert_eq!(probe.status(), status);
        assert!(probe.into_body().collect().await.is_err(), "its caller still meets the fault");
        assert_eq!(families.health().family("vendor").unwrap().phase, expected);
        tokio::time::sleep(SECOND).await;
        assert_eq!(vendor.send(impatient("/a")).await.unwrap().status(), StatusCode::OK);
    }
}
