//! The map of deadlines, by URL.

use forbear::{
    EffectiveUri, Families, Family, FamilyCooldownLayer, NoWait, RefusalCause, RetryAfterLayer, Unknown,
};
use http::Response;
use http_body_util::Full;
use tokio::time::{Instant, sleep};
use tower::{Layer, ServiceExt};

use crate::common::{Client, SECOND, Sent, answer, called, get, limited, with};
use crate::refusal;

/// A layer that was told on `uri` to wait ten seconds.
async fn told(layer: &RetryAfterLayer, uri: &str) -> Client {
    let client = Client::new([limited(429, 10), answer(200)]);
    let first = layer.layer(client.clone()).oneshot(with(get(uri), NoWait)).await.unwrap();
    assert_eq!(first.status(), 429);
    client
}

#[tokio::test(start_paused = true)]
async fn a_later_request_waits_for_what_was_recorded() {
    let layer = RetryAfterLayer::new();
    let client = told(&layer, "http://vendor.test/a").await;
    assert_eq!(layer.overflows(), 0);
    sleep(4 * SECOND).await;
    let start = Instant::now();
    let later = layer.layer(client.clone()).oneshot(get("http://vendor.test/a")).await.unwrap();
    assert_eq!(later.status(), 200);
    assert!((6 * SECOND..7 * SECOND).contains(&start.elapsed()), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_wait_is_refused_with_the_time() {
    let layer = RetryAfterLayer::new();
    let client = told(&layer, "http://vendor.test/a").await;
    sleep(4 * SECOND).await;
    let no_wait = layer.layer(client.clone());
    let without_replay = layer.clone().without_replay().layer(client.clone());
    let cooling = [
        refusal(no_wait.oneshot(with(get("http://u:p@vendor.test/a?token=1"), NoWait)).await).unwrap(),
        refusal(without_replay.oneshot(get("http://u:p@vendor.test/a?token=1")).await).unwrap(),
    ];
    for cooling in cooling {
        assert_eq!((cooling.cause(), cooling.reason().as_str()), (RefusalCause::Cooling, "retry-after"));
        assert_eq!((cooling.retry_in(), cooling.family()), (Some(6 * SECOND), "vendor.test"));
        assert_eq!(cooling.url().unwrap().to_string(), "http://vendor.test/a");
        assert_eq!(cooling.to_string(), "vendor.test is cooling, retry in 6.0s (retry-after)");
    }
    assert_eq!(client.sent(), 1);
}

#[tokio::test(start_paused = true)]
async fn one_whose_budget_is_too_short_is_refused_at_once() {
    let layer = RetryAfterLayer::new();
    let client = told(&layer, "http://vendor.test/a").await;
    let service = (forbear::BudgetLayer::new(10 * SECOND), layer).layer(client.clone());
    let start = Instant::now();
    let cooling = refusal(service.oneshot(get("http://vendor.test/a")).await).unwrap();
    assert_eq!((cooling.retry_in(), start.elapsed().is_zero()), (Some(10 * SECOND), true));
    assert_eq!(client.sent(), 1);
}

#[tokio::test(start_paused = true)]
async fn query_case_userinfo_and_default_port_are_one_url() {
    for (uri, held) in [
        ("http://VENDOR.test:80/a?page=2", true),
        ("http://me@vendor.test./a", true),
        ("http://vendor.test/b", false),
        ("http://vendor.test/A", false),
        ("https://vendor.test/a", false),
        ("http://vendor.test:8080/a", false),
        ("http://other.test/a", false),
    ] {
        let layer = RetryAfterLayer::new();
        let client = told(&layer, "http://vendor.test/a?page=1").await;
        let answer = layer.layer(client).oneshot(with(get(uri), NoWait)).await;
        assert_eq!(answer.is_err(), held, "{uri}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_url_that_answered_is_recorded() {
    let layer = RetryAfterLayer::new();
    let redirected = tower::service_fn(|_: http::Request<forbear::body::Replay<Sent>>| async {
        let mut response = Response::new(Sent::default());
        *response.status_mut() = http::StatusCode::TOO_MANY_REQUESTS;
        response.headers_mut().insert("retry-after", 10.into());
        response.extensions_mut().insert(EffectiveUri("http://cdn.test/x".parse().unwrap()));
        Ok::<Response<Full<bytes::Bytes>>, std::convert::Infallible>(response)
    });
    let _ = layer.layer(redirected).oneshot(with(get("http://vendor.test/a"), NoWait)).await.unwrap();
    let service = layer.layer(Client::new([answer(200)]));
    assert!(service.clone().oneshot(with(get("http://cdn.test/x"), NoWait)).await.is_err());
    assert!(service.oneshot(with(get("http://vendor.test/a"), NoWait)).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn what_finds_no_room_is_recorded_by_authority_and_counted() {
    let layer = RetryAfterLayer::new().max_recorded(2);
    for path in ["http://one.test/a", "http://one.test/b", "http://two.test/a"] {
        let _ = told(&layer, path).await;
    }
    assert_eq!(layer.overflows(), 1);
    let service = layer.layer(Client::new([answer(200)]));
    for (uri, held) in [
        ("http://one.test/a", true),
        ("http://one.test/b", true),
        ("http://one.test/c", false),
        ("http://two.test/a", true),
        ("http://two.test/z", true),
        ("http://three.test/a", false),
    ] {
        assert_eq!(service.clone().oneshot(with(get(uri), NoWait)).await.is_err(), held, "{uri}");
    }
}

#[tokio::test(start_paused = true)]
async fn clear_forgets_everything() {
    let layer = RetryAfterLayer::new();
    let client = told(&layer, "http://vendor.test/a").await;
    layer.clear();
    let start = Instant::now();
    let mut service = layer.layer(client);
    let answer = called(&mut service, get("http://vendor.test/a")).await.await.unwrap();
    assert_eq!((answer.status().as_u16(), start.elapsed().is_zero()), (200, true));
}

/// One logical request waits for what it was told first; a later 429 within that time moves nothing.
#[tokio::test(start_paused = true)]
async fn once_past_a_new_429_starts_a_new_wait() {
    let client = Client::new([limited(429, 3), limited(429, 4), answer(200)]);
    let layer = RetryAfterLayer::new();
    assert_eq!(layer.layer(client.clone()).oneshot(get("http://vendor.test/a")).await.unwrap().status(), 200);
    let gaps = client.gaps();
    assert!(gaps[0] >= 3 * SECOND && gaps[1] >= 4 * SECOND, "{gaps:?}");
}

#[tokio::test(start_paused = true)]
async fn a_relative_uri_is_recorded_under_its_host_field() {
    let layer = RetryAfterLayer::new();
    let service = layer.layer(Client::new([limited(429, 10), answer(200)]));
    let to = |host: &str| {
        let mut request = with(get("/a"), NoWait);
        request.headers_mut().insert("host", host.parse().unwrap());
        request
    };
    assert_eq!(service.clone().oneshot(to("one.test")).await.unwrap().status(), 429);
    assert_eq!(service.clone().oneshot(to("two.test")).await.unwrap().status(), 200);
    assert_eq!(refusal(service.oneshot(to("one.test")).await).unwrap().family(), "one.test");
}

#[tokio::test(start_paused = true)]
async fn a_deadline_that_moved_while_it_was_waited_for_is_waited_out() {
    let layer = RetryAfterLayer::new();
    let client = Client::new([limited(429, 30).delay(5 * SECOND), limited(429, 10), answer(200)]);
    let send = |request| layer.layer(client.clone()).oneshot(request);
    let slow = tokio::spawn(send(with(get("http://vendor.test/a"), NoWait)));
    tokio::task::yield_now().await;
    assert_eq!(send(with(get("http://vendor.test/a"), NoWait)).await.unwrap().status(), 429);
    let start = Instant::now();
    let later = send(get("http://vendor.test/a")).await.unwrap();
    assert_eq!((later.status().as_u16(), slow.await.unwrap().unwrap().status().as_u16()), (200, 429));
    assert!((35 * SECOND..37 * SECOND).contains(&start.elapsed()), "sent after {:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn what_a_host_field_holds_beside_the_host_is_never_shown() {
    let layer = RetryAfterLayer::new();
    let client = Client::new([limited(429, 10)]);
    let request = |extension| {
        let mut request = with(get("/a?token=S2"), extension);
        request.headers_mut().insert("host", "user:S1@vendor.test".parse().unwrap());
        request
    };
    let _ = layer.layer(client.clone()).oneshot(request(NoWait)).await.unwrap();
    let cooling = refusal(layer.layer(client).oneshot(request(NoWait)).await).unwrap();
    assert_eq!(cooling.family(), "vendor.test");
    let shown = format!("{cooling} {cooling:?}");
    assert!(!shown.contains("S1") && !shown.contains("S2"), "{shown}");
}

/// Without replay a request does not keep its URL; a gate below does that, if there is one in the same task.
#[tokio::test(start_paused = true)]
async fn without_replay_the_url_is_recorded_whatever_stands_below() {
    let registered = || Families::builder().family(Family::new("vendor").host("vendor.test"));
    let pass_through = Families::builder().unknown(Unknown::PassThrough);
    for (below, families) in [
        ("a registered family", Some(registered())),
        ("an automatic family", Some(Families::builder())),
        ("a family that nothing is learned from", Some(pass_through)),
        ("no gate", None),
    ] {
        for (uri, host) in [("http://u:p@Vendor.test:80/a?page=1", None), ("/a", Some("vendor.test"))] {
            let layer = RetryAfterLayer::new().without_replay();
            let mut first = get(uri);
            if let Some(host) = host {
                first.headers_mut().insert("host", host.parse().unwrap());
            }
            let client = Client::new([limited(429, 10)]);
            let told = match &families {
                Some(families) => {
                    let gate = FamilyCooldownLayer::new(families.clone().build().unwrap());
                    layer.layer(gate.layer(client)).oneshot(first).await.unwrap().status()
                }
                None => layer.layer(client).oneshot(first).await.unwrap().status(),
            };
            assert_eq!(told, 429, "{below}, {uri}");
            // A relative URL is taken for one of https.
            let absolute = if host.is_some() { "https://vendor.test/a" } else { "http://vendor.test/a" };
            let later = layer.layer(Client::new([answer(200)]));
            let refused = refusal(later.clone().oneshot(get(absolute)).await);
            assert_eq!(refused.map(|cooling| cooling.retry_in()), Some(Some(10 * SECOND)), "{below}, {uri}");
            assert!(later.oneshot(get("http://vendor.test/b")).await.is_ok(), "{below}, {uri}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn without_replay_a_gate_behind_a_buffer_changes_nothing() {
    let layer = RetryAfterLayer::new().without_replay();
    let families = Families::builder().family(Family::new("vendor").host("vendor.test")).build().unwrap();
    let gate = FamilyCooldownLayer::new(families).layer(Client::new([limited(429, 10)]));
    let buffered = layer.layer(tower::buffer::Buffer::new(gate, 1));
    assert_eq!(buffered.oneshot(get("http://vendor.test/a")).await.unwrap().status(), 429);
    let later = layer.layer(Client::new([answer(200)]));
    assert!(refusal(later.oneshot(get("http://vendor.test/a")).await).is_some());
}

#[tokio::test(start_paused = true)]
async fn its_refusals_are_counted_for_the_family() {
    for name in ["vendor", "vendor.test"] {
        let families = match name {
            "vendor" => Families::builder().family(Family::new("vendor").host("vendor.test")),
            _ => Families::builder(),
        };
        let families = families.build().unwrap();
        let service = forbear::stack(&families).budget(60 * SECOND).layer(Client::new([limited(429, 300)]));
        let told = service.clone().oneshot(get("http://vendor.test/a")).await.unwrap();
        assert_eq!(told.status(), 429);
        let (no_wait, short) = (with(get("http://vendor.test/a"), NoWait), get("http://vendor.test/a"));
        for request in [no_wait, short, get("http://vendor.test/b")] {
            assert!(refusal(service.clone().oneshot(request).await).is_some());
        }
        assert_eq!(families.health().family(name).unwrap().refusals, 3);
        sleep(280 * SECOND).await;
        let waiting = tokio::spawn(service.clone().oneshot(get("http://vendor.test/a")));
        sleep(SECOND).await;
        families.shutdown();
        for call in [waiting.await.unwrap(), service.clone().oneshot(get("http://vendor.test/a")).await] {
            assert_eq!(refusal(call).unwrap().cause(), RefusalCause::ShuttingDown);
        }
        assert_eq!(families.health().family(name).unwrap().refusals, 5);
    }
}

/// Two copies of one logical request, as hedging makes them: what the first recorded is not moved by the second.
#[tokio::test(start_paused = true)]
async fn copies_of_one_logical_request_record_once() {
    let layer = RetryAfterLayer::new();
    let hedged = layer.layer(Client::new([limited(429, 10), limited(429, 30), answer(200)]));
    let hedge = tower::service_fn(move |_: http::Request<Sent>| {
        let [mut one, mut other] = [hedged.clone(), hedged.clone()];
        async move {
            let url = "http://vendor.test/a";
            let both = (
                called(&mut one, with(get(url), NoWait)).await,
                called(&mut other, with(get(url), NoWait)).await,
            );
            let (one, other) = tokio::join!(both.0, both.1);
            assert_eq!((one?.status().as_u16(), other?.status().as_u16()), (429, 429));
            Ok::<_, forbear::Error>(Response::new(Full::<bytes::Bytes>::default()))
        }
    });
    let service = forbear::BudgetLayer::new(60 * SECOND).layer(hedge);
    let _ = service.oneshot(get("http://vendor.test/a")).await.unwrap();
    let later =
        layer.layer(Client::new([answer(200)])).oneshot(with(get("http://vendor.test/a"), NoWait)).await;
    assert_eq!(refusal(later).unwrap().retry_in(), Some(10 * SECOND));
}

/// Who counts attempts itself sends again itself: both together would multiply.
#[tokio::test(start_paused = true)]
async fn a_caller_that_declares_its_attempts_is_told_at_once() {
    let client = Client::new([limited(429, 1), answer(200)]);
    let mut request = get("http://vendor.test/a");
    request.headers_mut().insert("amz-sdk-request", http::HeaderValue::from_static("attempt=1; max=3"));
    let start = Instant::now();
    let told = RetryAfterLayer::new().layer(client.clone()).oneshot(request).await.unwrap();
    assert_eq!((told.status().as_u16(), start.elapsed().is_zero(), client.sent()), (429, true, 1));
}
