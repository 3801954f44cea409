//! Faults from public reports.

use forbear::{Families, Family, FamilyCooldownLayer, Unknown};
use tower::ServiceBuilder;

use crate::vendor::{Fault, answer, ok};
use crate::*;

fn gated(
    vendor: &Vendor,
) -> impl tower::Service<Request<Body>, Response = Answer, Error = forbear::Error, Future: Send> + Clone + Send
{
    let family = Family::new("vendor").host("vendor.test").host("other.test");
    let families = Families::builder().family(family).unknown(Unknown::Refuse).build().unwrap();
    ServiceBuilder::new()
        .layer(layer())
        .map_response(|response: http::Response<_>| response.map(vendor::boxed))
        .layer(FamilyCooldownLayer::new(families))
        .service(vendor.clone())
}

// nginx/nginx#1000, artifact-keeper/artifact-keeper#3571
#[tokio::test(start_paused = true)]
async fn case_58_a_throttled_vendor_is_asked_once_however_many_ask_for_what_is_stale() {
    let vendor = Vendor::counting("max-age=10");
    let service = gated(&vendor);
    ask(&service, URL).await;
    tokio::time::sleep(11_500 * MS).await;
    vendor.now(|_| Ok(answer(429, &[("retry-after", "60")], "")));
    for _ in 0..1000 {
        let response = send(&service, get(URL)).await;
        let status = response.headers()["cache-status"].to_str().unwrap();
        assert!(status.starts_with("forbear; hit; ttl=-1; detail="), "{status}");
        assert_eq!(response.headers()["age"], "11");
        assert_eq!(text(response).await, "1");
    }
    assert_eq!(vendor.attempts(), 2);
    tokio::time::sleep(48 * SECOND).await;
    ask(&service, URL).await;
    assert_eq!(vendor.attempts(), 2);
    // Nor for a head.
    let mut head = get(URL);
    *head.method_mut() = http::Method::HEAD;
    assert_eq!(because(served(&send(&service, head).await)), Some(Because::Cooling));
    assert_eq!(vendor.attempts(), 2);
}

// tailscale/tailscale#18919, authzed/spicedb#925, PureWhiteWu/async_singleflight#12, hyperium/hyper-util#299
#[tokio::test(start_paused = true)]
async fn case_60_a_leader_that_goes_harms_no_follower() {
    for leaves_after in [0, 1, 500] {
        let vendor = Vendor::counting("max-age=60");
        vendor.takes(SECOND);
        let service = service(&vendor);
        let leader = tokio::spawn({
            let service = service.clone();
            async move { ask(&service, URL).await }
        });
        settle().await;
        let followers: Vec<_> = (0..50)
            .map(|_| {
                let service = service.clone();
                tokio::spawn(async move { ask(&service, URL).await })
            })
            .collect();
        tokio::time::sleep(leaves_after * MS).await;
        leader.abort();
        for follower in followers {
            assert_eq!(follower.await.unwrap().1, "1");
        }
        assert_eq!(vendor.attempts(), 1, "{leaves_after}");
    }
}

// The same
#[tokio::test(start_paused = true)]
async fn case_60_a_panic_below_is_its_leaders_and_exactly_one_follower_succeeds_it() {
    let vendor = Vendor::counting("max-age=60");
    vendor.takes(SECOND);
    let mut attempts = 0;
    vendor.now(move |_| {
        attempts += 1;
        assert!(attempts > 1, "the first attempt panics");
        Ok(ok(&[("cache-control", "max-age=60")], &attempts.to_string()))
    });
    let service = service(&vendor);
    let asked: Vec<_> = (0..51)
        .map(|_| {
            let service = service.clone();
            tokio::spawn(async move { service.oneshot(get(URL)).await })
        })
        .collect();
    let mut panicked = 0;
    for one in asked {
        match one.await {
            Ok(answer) => assert_eq!(text(answer.unwrap()).await, "2"),
            Err(error) => {
                assert!(error.is_panic());
                panicked += 1;
            }
        }
    }
    assert_eq!((panicked, vendor.attempts()), (1, 2));
}

// The same, mid-body
#[tokio::test(start_paused = true)]
async fn case_60_a_leader_that_drops_a_body_half_read_harms_no_follower() {
    let vendor = Vendor::new(|_| {
        let frames = futures_util::stream::unfold(0, |n| async move {
            tokio::time::sleep(SECOND).await;
            let frame = Ok::<_, Fault>(http_body::Frame::data(bytes::Bytes::from(n.to_string())));
            (n < 5).then_some((frame, n + 1))
        });
        let mut response = ok(&[("cache-control", "max-age=60")], "");
        *response.body_mut() = vendor::boxed(http_body_util::StreamBody::new(frames));
        Ok(response)
    });
    let service = service(&vendor);
    let leaders = send(&service, get(URL)).await;
    let followers: Vec<_> = (0..50)
        .map(|_| {
            let service = service.clone();
            tokio::spawn(async move { ask(&service, URL).await.1 })
        })
        .collect();
    tokio::time::sleep(2 * SECOND).await;
    drop(leaders);
    for follower in followers {
        assert_eq!(follower.await.unwrap(), "01234");
    }
    assert_eq!(vendor.attempts(), 1);
}

// Pingora CVE-2026-2836, requests-cache/requests-cache#1149, jonbaldie/varnish#47
#[tokio::test(start_paused = true)]
async fn case_61_nobody_is_served_what_another_was_given_also_stale() {
    let vendor = Vendor::new(|request| {
        let of =
            |name: &str| request.headers().get(name).map_or("-", |value| value.to_str().unwrap()).to_owned();
        let whose = format!("{} {} {}", request.uri(), of("authorization"), of("x-tenant"));
        Ok(ok(&[("cache-control", "max-age=10"), ("vary", "X-Tenant")], &whose))
    });
    let service = gated(&vendor);
    let asks = |url: &str, token: Option<&str>, tenant: Option<&str>| {
        let mut request = get(url);
        for (name, value) in [("authorization", token), ("x-tenant", tenant)] {
            if let Some(value) = value {
                request.headers_mut().insert(name, value.parse().unwrap());
            }
        }
        request
    };
    let all = || {
        let urls = [URL, "http://other.test/a", "https://vendor.test/a"];
        urls.into_iter().flat_map(move |url| {
            [None, Some("1"), Some("2")].into_iter().flat_map(move |token| {
                [None, Some("x"), Some("y")].into_iter().map(move |tenant| (url, token, tenant))
            })
        })
    };
    for round in ["live", "fresh", "stale"] {
        for (url, token, tenant) in all() {
            let (served, text) = read(send(&service, asks(url, token, tenant)).await).await;
            assert_eq!(text, format!("{url} {} {}", token.unwrap_or("-"), tenant.unwrap_or("-")), "{round}");
            assert_eq!(matches!(served, Served::Live), round == "live");
        }
        if round == "fresh" {
            tokio::time::sleep(11 * SECOND).await;
            vendor.now(|_| Ok(answer(429, &[("retry-after", "600")], "")));
        }
    }
    assert_eq!(vendor.attempts(), 27 + 1);
}

// JSONbored/metagraphed#1561, macports/macports-webapp#378, weserv/images#369
#[tokio::test(start_paused = true)]
async fn case_62_an_error_is_not_stored_and_replaces_no_good_answer() {
    let vendor = Vendor::counting("max-age=10");
    let service = service(&vendor);
    ask(&service, URL).await;
    tokio::time::sleep(11 * SECOND).await;
    for status in [429, 503, 500] {
        vendor.now(move |_| Ok(answer(status, &[("cache-control", "max-age=60")], "bad")));
        assert_eq!(ask(&service, URL).await.1, "1", "{status}");
        tokio::time::sleep(2 * SECOND).await;
    }
    vendor.now(|_| Ok(ok(&[], "recovered")));
    assert_eq!(ask(&service, URL).await, (Served::Live, "recovered".into()));
    // Nor where there was nothing.
    vendor.now(|_| Ok(answer(429, &[("cache-control", "max-age=60")], "bad")));
    assert_eq!(send(&service, get("http://vendor.test/b")).await.status(), 429);
    vendor.now(|_| Ok(ok(&[], "good")));
    assert_eq!(ask(&service, "http://vendor.test/b").await.1, "good");
}
