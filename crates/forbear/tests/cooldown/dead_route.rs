//! One route that is always refused beside healthy ones.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use forbear::body::Replay;
use forbear::{NoWait, stack};
use http::{Request, Response, StatusCode};
use tokio::time::{Instant, sleep};
use tower::{Layer, ServiceExt, service_fn};

use crate::common::{SECOND, Sent, get, with};
use crate::families;

/// Answers 200, but 429 on `/dead` while that is on; counts what it refuses.
fn vendor(
    dead: &Arc<AtomicBool>,
    refused: &Arc<AtomicUsize>,
) -> impl tower::Service<Request<Replay<Sent>>, Response = Response<Sent>, Error = Infallible, Future: Send>
+ Clone
+ Send
+ 'static {
    let (dead, refused) = (Arc::clone(dead), Arc::clone(refused));
    service_fn(move |request: Request<Replay<Sent>>| {
        let refuse = request.uri().path() == "/dead" && dead.load(Ordering::Relaxed);
        let refused = Arc::clone(&refused);
        async move {
            sleep(SECOND / 20).await;
            let mut response = Response::new(Sent::default());
            if refuse {
                refused.fetch_add(1, Ordering::Relaxed);
                *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
                response.headers_mut().insert("retry-after", 5.into());
            }
            Ok(response)
        }
    })
}

#[tokio::test(start_paused = true)]
async fn the_others_are_served_while_one_route_is_always_refused() {
    let families = families();
    let (dead, refused) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let service = stack(&families).budget(10 * SECOND).layer(vendor(&dead, &refused));
    let mut calls = tokio::task::JoinSet::new();
    // Ten calls a second to nine healthy routes, one to the dead one, for ten minutes.
    for second in 0..600_u32 {
        for call in 0..10_u32 {
            let path = if call == 0 { "/dead".to_owned() } else { format!("/well/{call}") };
            let service = service.clone();
            calls.spawn(async move {
                sleep(SECOND * second + SECOND / 10 * call).await;
                let served = service.oneshot(get(&format!("http://vendor.test{path}"))).await;
                (call > 0, served.is_ok_and(|answer| answer.status() == 200))
            });
        }
    }
    let answers = calls.join_all().await;
    let well = answers.iter().filter(|(well, _)| *well).count();
    let served = answers.iter().filter(|(well, served)| *well && *served).count();
    assert!(served * 100 >= well * 90, "{served} of {well}");
    assert!(answers.iter().all(|(well, served)| *well || !*served));
    // It is not hammered either: a probe for each of its own cool-downs.
    let refused = refused.load(Ordering::Relaxed);
    assert!(refused <= 600 / 5 + 10, "{refused}");
    let health = families.health();
    let apart = &health.families[0].partitions[0];
    assert_eq!(apart.partition.as_deref(), Some("route /dead"));
    assert!(health.to_string().contains("\nvendor/route /dead  "), "{health}");
}

#[tokio::test(start_paused = true)]
async fn once_it_is_accepted_it_is_a_route_like_any_other() {
    let families = families();
    let (dead, refused) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let service = stack(&families).budget(10 * SECOND).layer(vendor(&dead, &refused));
    let call = |path: &str| service.clone().oneshot(with(get(&format!("http://vendor.test{path}")), NoWait));
    let apart = || {
        families.health().families[0]
            .partitions
            .iter()
            .any(|part| part.partition.as_deref() == Some("route /dead"))
    };
    let start = Instant::now();
    while !apart() {
        let _ = call("/well").await;
        let _ = call("/dead").await;
        sleep(SECOND).await;
        assert!(start.elapsed() < 120 * SECOND);
    }
    assert_eq!(refused.load(Ordering::Relaxed), 3);
    // Its family is open to the others at once.
    assert_eq!(call("/well").await.unwrap().status(), 200);
    assert!(call("/dead").await.is_err());
    dead.store(false, Ordering::Relaxed);
    sleep(6 * SECOND).await;
    assert_eq!(call("/dead").await.unwrap().status(), 200);
    assert!(!apart());
    // From here on a signal on it is the family's again.
    dead.store(true, Ordering::Relaxed);
    sleep(60 * SECOND).await;
    assert_eq!(call("/dead").await.unwrap().status(), 429);
    assert!(call("/well").await.is_err());
}

/// A vendor that refuses everybody now and then is no dead route, whoever meets it.
#[tokio::test(start_paused = true)]
async fn a_route_that_is_accepted_in_between_stays_with_its_family() {
    let families = families();
    let (dead, refused) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
    let service = stack(&families).budget(10 * SECOND).layer(vendor(&dead, &refused));
    let call = |path: &str| service.clone().oneshot(with(get(&format!("http://vendor.test{path}")), NoWait));
    for round in 0..10 {
        dead.store(true, Ordering::Relaxed);
        assert_eq!(call("/dead").await.unwrap().status(), 429, "{round}");
        dead.store(false, Ordering::Relaxed);
        sleep(60 * SECOND).await;
        for path in ["/well", "/dead", "/well"] {
            assert_eq!(call(path).await.unwrap().status(), 200, "{round} {path}");
            sleep(10 * SECOND).await;
        }
    }
    assert!(families.health().families[0].partitions.is_empty());
}

/// An answer that says nothing about limits is not accepted, nor is it refused.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_no_news_is_no_acceptance() {
    let families = families();
    let calls = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&calls);
    let client = service_fn(move |request: Request<Replay<Sent>>| {
        let call = count.fetch_add(1, Ordering::Relaxed);
        let answer = Response::builder();
        let answer = match (request.uri().path(), call % 4) {
            ("/dead", 0) => answer.status(429).header("retry-after", 5),
            ("/dead", _) => answer.status(400),
            _ => answer,
        };
        std::future::ready(Ok::<_, Infallible>(answer.body(Sent::default()).unwrap()))
    });
    let service = stack(&families).budget(10 * SECOND).layer(client);
    let call = |path: &str| service.clone().oneshot(with(get(&format!("http://vendor.test{path}")), NoWait));
    for round in 0..3 {
        assert_eq!(call("/dead").await.unwrap().status(), 429, "{round}");
        sleep(60 * SECOND).await;
        for (path, status) in [("/well", 200), ("/dead", 400), ("/well", 200)] {
            assert_eq!(call(path).await.unwrap().status(), status, "{round} {path}");
            sleep(10 * SECOND).await;
        }
    }
    assert!(families.health().to_string().contains("vendor/route /dead"), "{}", families.health());
}
