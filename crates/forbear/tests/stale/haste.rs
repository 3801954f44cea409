//! Some wait for a cool-down, or for their turn, and some do not: who joins whose attempt.

use forbear::stale::Fallback;
use forbear::{Error, Families, Family, NoQueue, NoWait, Pacing, Priority, Vendor as Stacked};
use http::header::CACHE_CONTROL;
use tokio::time::Instant;

use crate::vendor::{answer, ok};
use crate::*;

pub(crate) type Service<C> = StaleService<Stacked<C>>;

/// A vendor whose requests have gone through the whole stack, and whose family is paced so.
pub(crate) fn stacked(
    vendor: &Vendor,
    pacing: Option<Pacing>,
    policy: StalePolicy,
) -> Service<
    impl tower::Service<
        Request<forbear::Replay<Body>>,
        Response = Response<Body>,
        Error = vendor::Fault,
        Future: Send,
    > + Clone
    + Send
    + 'static,
> {
    let family = Family::new("vendor").host("vendor.test").stale(policy);
    let family = match pacing {
        Some(pacing) => family.pacing(pacing),
        None => family,
    };
    let families = Families::builder().family(family).build().unwrap();
    let vendor = vendor.clone();
    let client = tower::service_fn(move |request: Request<forbear::Replay<Body>>| {
        vendor.clone().oneshot(request.map(vendor::boxed))
    });
    forbear::stack(&families).budget(30 * SECOND).stale(layer()).service(client)
}

async fn told<S, RB>(service: &S, request: Request<Body>) -> (Result<Served, Error>, Duration)
where
    S: tower::Service<Request<Body>, Response = Response<StaleBody<RB>>, Error = Error> + Clone,
    RB: http_body::Body<Error: Into<forbear::BoxError>>,
{
    let begun = Instant::now();
    let told = match service.clone().oneshot(request).await {
        Ok(response) => {
            let served = *response.extensions().get::<Served>().unwrap();
            assert!(response.into_body().collect().await.is_ok());
            Ok(served)
        }
        Err(error) => Err(error),
    };
    (told, begun.elapsed())
}

fn insists() -> Request<Body> {
    let mut request = get(URL);
    request.headers_mut().insert(CACHE_CONTROL, "no-cache".parse().unwrap());
    request
}

fn with_extension<T: Clone + Send + Sync + 'static>(
    mut request: Request<Body>,
    extension: T,
) -> Request<Body> {
    request.extensions_mut().insert(extension);
    request
}

#[tokio::test(start_paused = true)]
async fn with_an_old_answer_in_hand_nobody_waits_behind_one_who_waits_for_the_vendor() {
    let vendor = Vendor::counting("max-age=10");
    let service = stacked(&vendor, None, StalePolicy::new());
    told(&service, get(URL)).await.0.unwrap();
    tokio::time::sleep(20 * SECOND).await;
    let mut limited = 1;
    vendor.now(move |_| {
        limited -= 1;
        Ok(if limited >= 0 {
            answer(429, &[("retry-after", "20")], "")
        } else {
            ok(&[("cache-control", "max-age=10")], "new")
        })
    });
    vendor.takes(100 * MS);
    let patient = tokio::spawn({
        let service = service.clone();
        async move { told(&service, insists()).await }
    });
    settle().await;
    // That attempt is on its way: who comes now waits for it, and not once more.
    let (early, waited) = told(&service, get(URL)).await;
    assert_eq!((because(early.unwrap()), waited), (Some(Because::Cooling), 99 * MS));
    for _ in 0..100 {
        let (stale, waited) = told(&service, get(URL)).await;
        assert_eq!((because(stale.unwrap()), waited), (Some(Because::Cooling), Duration::ZERO));
    }
    assert_eq!(vendor.attempts(), 2);
    let (live, waited) = patient.await.unwrap();
    assert_eq!(live.unwrap(), Served::Live);
    assert!((20 * SECOND..23 * SECOND).contains(&waited), "{waited:?}");
    assert_eq!(vendor.attempts(), 3);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_no_cool_down_does_not_wait_behind_one_who_does() {
    let vendor = Vendor::new(|_| Ok(answer(429, &[("retry-after", "20")], "")));
    let service = stacked(&vendor, None, StalePolicy::new());
    let patient = tokio::spawn({
        let service = service.clone();
        async move { told(&service, get(URL)).await }
    });
    settle().await;
    for _ in 0..10 {
        let (refused, waited) = told(&service, with_extension(get(URL), NoWait)).await;
        assert!(matches!(refused, Err(Error::Cooling(_))), "{refused:?}");
        assert_eq!(waited, Duration::ZERO);
    }
    assert_eq!(vendor.attempts(), 1);
    vendor.now(|_| Ok(ok(&[("cache-control", "max-age=10")], "good")));
    assert_eq!(patient.await.unwrap().0.unwrap(), Served::Live);
}

#[tokio::test(start_paused = true)]
async fn one_that_will_not_queue_is_refused_alone() {
    let vendor = Vendor::counting("max-age=100");
    let service = stacked(&vendor, Some(Pacing::new().gap(5 * SECOND)), StalePolicy::new());
    told(&service, get("http://vendor.test/first")).await.0.unwrap();
    let hasty = tokio::spawn({
        let service = service.clone();
        async move { told(&service, with_extension(get(URL), NoQueue)).await.0 }
    });
    let others: Vec<_> = (0..100)
        .map(|_| {
            let service = service.clone();
            tokio::spawn(async move { told(&service, get(URL)).await })
        })
        .collect();
    assert!(matches!(hasty.await.unwrap(), Err(Error::Pacing(_))));
    settle().await;
    // Nor does one wait behind those who do.
    let (refused, waited) = told(&service, with_extension(get(URL), NoQueue)).await;
    assert!(matches!(refused, Err(Error::Pacing(_))), "{refused:?}");
    assert_eq!(waited, Duration::ZERO);
    for other in others {
        let (live, waited) = other.await.unwrap();
        assert_eq!(live.unwrap(), Served::Live);
        assert!(waited <= 5 * SECOND, "{waited:?}");
    }
    assert_eq!(vendor.attempts(), 2);
}

/// Of a key that is far down the line of what is done in the background, somebody asks now.
#[tokio::test(start_paused = true)]
async fn who_is_waited_for_does_not_queue_behind_the_background_and_one_attempt_does_for_both() {
    let vendor = Vendor::counting("max-age=1000");
    let service = stacked(&vendor, Some(Pacing::new().gap(SECOND)), StalePolicy::new());
    let mut background: Vec<_> = (0..20)
        .map(|n| {
            let filling = service.filling();
            let request = with_extension(get(&format!("http://vendor.test/{n}")), Priority::Background);
            tokio::spawn(async move { told(&filling, request).await })
        })
        .collect();
    settle().await;
    let (live, waited) = told(&service, get("http://vendor.test/19")).await;
    assert_eq!(live.unwrap(), Served::Live);
    assert!(waited <= 3 * SECOND, "{waited:?}");
    // What waits in the background has it too, and sends nothing.
    let (live, waited) = background.pop().unwrap().await.unwrap();
    assert_eq!(live.unwrap(), Served::Live);
    assert!(waited <= 4 * SECOND, "{waited:?}");
    for one in background {
        one.await.unwrap().0.unwrap();
    }
    assert_eq!(vendor.attempts(), 20);
}

/// An answer that turned out to be somebody else's alone leaves the old one in hand.
#[tokio::test(start_paused = true)]
async fn who_asks_alone_with_an_old_answer_in_hand_waits_for_no_cool_down_and_not_for_long() {
    for (second, expected) in [("limited", Because::Limited), ("slow", Because::Slow)] {
        let vendor = Vendor::counting("max-age=10");
        let service = stacked(&vendor, None, StalePolicy::new().patience(3 * SECOND));
        told(&service, get(URL)).await.0.unwrap();
        tokio::time::sleep(20 * SECOND).await;
        vendor.takes(SECOND);
        let (mut asked, slow) = (0, vendor.clone());
        vendor.now(move |_| {
            asked += 1;
            if second == "slow" {
                slow.takes(100 * SECOND);
            }
            Ok(match asked {
                1 => ok(&[("cache-control", "no-store")], "mine"),
                _ => answer(429, &[("retry-after", "20")], ""),
            })
        });
        let (first, (other, waited)) = tokio::join!(told(&service, get(URL)), told(&service, get(URL)));
        assert_eq!(first.0.unwrap(), Served::Live);
        assert_eq!(because(other.unwrap()), Some(expected));
        assert!(waited <= 4 * SECOND, "{waited:?}");
        assert_eq!(vendor.in_flight(), 0);
    }
}

/// A fallback for some requests is no answer for others.
#[tokio::test(start_paused = true)]
async fn where_the_leader_alone_has_a_fallback_the_others_are_told_by_one_more_attempt() {
    let vendor = Vendor::new(|_| Ok(answer(503, &[], "down")));
    vendor.takes(SECOND);
    let of_some = Fallback::of(|head| {
        head.headers.contains_key("x-some").then(|| Response::new(bytes::Bytes::from_static(b"instead")))
    });
    let service = with(StalePolicy::new().fallback(of_some), &vendor);
    let mut some = get(URL);
    some.headers_mut().insert("x-some", "1".parse().unwrap());
    let leader = tokio::spawn(service.clone().oneshot(some));
    settle().await;
    let others = futures_util::future::join_all((0..1_000).map(|_| send(&service, get(URL)))).await;
    assert!(others.iter().all(|told| told.status() == 503));
    assert!(matches!(served(&leader.await.unwrap().unwrap()), Served::Fallback { .. }));
    assert_eq!(vendor.attempts(), 2);
}
