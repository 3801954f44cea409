//! The vendor on a loopback socket.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use forbear_mock::{Attempt, MockVendor, reply, respond_with};
use futures_util::future::join_all;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};

type Http = Client<HttpConnector, Full<Bytes>>;

fn client() -> Http {
    Client::builder(TokioExecutor::new()).build_http()
}

async fn send(client: &Http, request: Request<Full<Bytes>>) -> Response<Bytes> {
    let (parts, body) = client.request(request).await.unwrap().into_parts();
    Response::from_parts(parts, body.collect().await.unwrap().to_bytes())
}

async fn get(client: &Http, url: String) -> Response<Bytes> {
    send(client, Request::get(url).body(Full::default()).unwrap()).await
}

async fn statuses(client: &Http, url: &str, n: usize) -> Vec<u16> {
    let mut statuses = Vec::new();
    for _ in 0..n {
        statuses.push(get(client, url.to_owned()).await.status().as_u16());
    }
    statuses
}

#[tokio::test]
async fn a_route_plays_its_own_script_and_the_others_share_the_default() {
    let vendor = MockVendor::start()
        .await
        .script([reply(503), reply(200)])
        .route("/chart", [reply(429).retry_after(1), reply(201)]);
    let client = client();

    assert_eq!(statuses(&client, &vendor.url("/chart?range=1d"), 3).await, [429, 201, 201]);
    assert_eq!(statuses(&client, &vendor.url("/quote"), 1).await, [503]);
    // Another path, the same script: it has moved on. And `/chart/` is not `/chart`.
    assert_eq!(statuses(&client, &vendor.url("/chart/"), 2).await, [200, 200]);

    vendor.assert_attempts(6);
    vendor.assert_attempts_on("/chart", 3);
    let paths: Vec<_> = vendor.attempts().iter().map(|attempt| attempt.path().to_owned()).collect();
    assert_eq!(paths, ["/chart", "/chart", "/chart", "/quote", "/chart/", "/chart/"]);
    let answered: Vec<_> =
        vendor.attempts().iter().map(|attempt| attempt.status().unwrap().as_u16()).collect();
    assert_eq!(answered, [429, 201, 201, 503, 200, 200]);
}

#[tokio::test]
async fn a_path_without_any_script_says_what_is_missing() {
    let vendor = MockVendor::start().await.route("/scripted", reply(200));
    let response = get(&client(), vendor.url("/other")).await;
    assert_eq!(response.status(), StatusCode::NOT_IMPLEMENTED);
    assert_eq!(
        response.body(),
        "forbear-mock: no script for /other: give the vendor one with `script` or `route`"
    );
    vendor.assert_attempts_on("/other", 1);
}

#[tokio::test]
async fn the_request_is_recorded_whole() {
    let vendor = MockVendor::start().await.script(reply(202));
    let request = Request::post(vendor.url("/orders/7?dry=1&x=%20"))
        .header("idempotency-key", "k1")
        .header("x-list", "a")
        .header("x-list", "b")
        .body(Full::from(vec![0, 159, 146, 150]))
        .unwrap();
    send(&client(), request).await;

    let attempts = vendor.attempts();
    let [attempt] = &*attempts else { panic!("one attempt, not {}", attempts.len()) };
    assert_eq!(attempt.number(), 1);
    assert_eq!(attempt.method(), Method::POST);
    assert_eq!((attempt.path(), attempt.query()), ("/orders/7", Some("dry=1&x=%20")));
    assert_eq!(attempt.authority(), Some(vendor.authority().as_str()));
    assert_eq!(attempt.headers()["idempotency-key"], "k1");
    assert_eq!(attempt.headers().get_all("x-list").iter().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(attempt.body().as_ref(), [0, 159, 146, 150]);
    assert_eq!(attempt.status(), Some(StatusCode::ACCEPTED));
    assert_eq!(attempt.since(), Duration::ZERO);
}

#[tokio::test]
async fn the_reply_arrives_as_written() {
    let vendor = MockVendor::start().await.script(
        reply(429)
            .retry_after(5)
            .retry_after_text("soon")
            .header("x-raw", [b'a', 0xff])
            .json(&HashMap::from([("reason", "inflight_limit")])),
    );
    let response = get(&client(), vendor.url("/")).await;
    assert_eq!(response.headers().get_all("retry-after").iter().collect::<Vec<_>>(), ["5", "soon"]);
    assert_eq!(response.headers()["x-raw"].as_bytes(), [b'a', 0xff]);
    assert_eq!(response.headers()["content-type"], "application/json");
    assert_eq!(response.body(), r#"{"reason":"inflight_limit"}"#);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_concurrent_calls_are_logged_once_each_in_order_of_their_times() {
    let vendor = MockVendor::start().await.script([reply(429).times(40), reply(200)]);
    let client = client();
    let before = Instant::now();
    let calls = (0..100).map(|i| {
        let (client, url) = (client.clone(), vendor.url(&format!("/item/{i}")));
        tokio::spawn(async move { get(&client, url).await.status().as_u16() })
    });
    let seen: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
    let after = Instant::now();
    assert_eq!(seen.iter().filter(|status| **status == 429).count(), 40);
    assert_eq!(seen.iter().filter(|status| **status == 200).count(), 60);

    let log = vendor.attempts();
    log.assert_count(100);
    assert!(log.iter().map(Attempt::number).eq(1..=100));
    assert!(log.is_sorted_by_key(Attempt::at));
    assert!(log.iter().all(|attempt| (before..=after).contains(&attempt.at())));
    assert!(log.iter().all(|attempt| attempt.since() == attempt.at() - log[0].at()));
    for (i, status) in seen.into_iter().enumerate() {
        let on_route = vendor.attempts_on(&format!("/item/{i}"));
        on_route.assert_count(1);
        assert_eq!(on_route[0].status().unwrap(), status, "the log says what the caller of item {i} saw");
    }
    let (first, last) = log.split_at(40);
    assert!(first.iter().all(|attempt| attempt.status() == Some(StatusCode::TOO_MANY_REQUESTS)));
    assert!(last.iter().all(|attempt| attempt.status() == Some(StatusCode::OK)));
}

#[tokio::test]
async fn an_outage_is_turned_on_and_off_while_the_vendor_runs() {
    let vendor = MockVendor::start().await.script(reply(200)).route("/chart", reply(204));
    let (client, url) = (client(), vendor.url("/quote"));
    assert_eq!(statuses(&client, &url, 2).await, [200, 200]);
    vendor.set_script([reply(500), reply(503)]);
    assert_eq!(statuses(&client, &url, 3).await, [500, 503, 503]);
    assert_eq!(statuses(&client, &vendor.url("/chart"), 1).await, [204]);
    vendor.set_script([reply(500), reply(503)]);
    assert_eq!(statuses(&client, &url, 1).await, [500], "a new script plays from its beginning");
    vendor.set_script(reply(200));
    assert_eq!(statuses(&client, &url, 1).await, [200]);
    vendor.set_route("/quote", reply(404));
    assert_eq!(statuses(&client, &url, 1).await, [404]);
    vendor.assert_attempts(9);
}

#[tokio::test]
async fn a_delay_holds_back_its_own_answer_and_no_other() {
    let vendor = MockVendor::start()
        .await
        .script(reply(200))
        .route("/late", reply(200).delay(Duration::from_millis(40)))
        .route("/never", reply(200).delay(Duration::from_secs(3600)));
    let client = client();
    let before = Instant::now();
    assert_eq!(get(&client, vendor.url("/late")).await.status(), 200);
    assert!(before.elapsed() >= Duration::from_millis(40));

    let url = vendor.url("/never");
    let never = tokio::spawn({
        let client = client.clone();
        async move { get(&client, url).await.status() }
    });
    while vendor.attempts_on("/never").is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(get(&client, vendor.url("/other")).await.status(), 200);
    assert!(!never.is_finished());
    never.abort();
}

#[tokio::test]
async fn a_closure_answers_what_it_sees() {
    let vendor = MockVendor::start().await;
    let mut limited = 0;
    vendor.set_script(respond_with(move |attempt| {
        if attempt.headers().contains_key("authorization") {
            return reply(200);
        }
        limited += 1;
        reply(429).header("x-limited", limited.to_string())
    }));
    let client = client();
    assert_eq!(get(&client, vendor.url("/")).await.headers()["x-limited"], "1");
    assert_eq!(get(&client, vendor.url("/")).await.headers()["x-limited"], "2");
    let with_key = Request::get(vendor.url("/")).header("authorization", "Bearer x");
    assert_eq!(send(&client, with_key.body(Full::default()).unwrap()).await.status(), 200);
}

#[tokio::test]
async fn the_socket_closes_with_the_last_clone() {
    let vendor = MockVendor::start().await.script(reply(200));
    assert_eq!(vendor.uri(), format!("http://{}", vendor.authority()));
    let mut socket = tokio::net::TcpStream::connect(vendor.authority()).await.unwrap();
    let (clone, mut head) = (vendor.clone(), [0; 15]);
    drop(vendor);
    socket.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    socket.read_exact(&mut head).await.unwrap();
    assert_eq!(&head, b"HTTP/1.1 200 OK");
    clone.assert_attempts(1);
    drop(clone);
    // The connection was to be kept alive, so only the server can end it. The limit only keeps a failure from hanging.
    let end = timeout(Duration::from_secs(10), socket.read_to_end(&mut Vec::new())).await;
    assert!(end.is_ok(), "the connection outlived the vendor");
}

/// Whoever drops a vendor and then calls it is refused, each time.
#[tokio::test]
async fn nothing_listens_any_more_when_the_last_clone_is_gone() {
    for _ in 0..5 {
        let vendor = MockVendor::start().await.script(reply(200));
        let authority = vendor.authority();
        drop(vendor);
        let error = tokio::net::TcpStream::connect(authority).await.expect_err("nobody listens");
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
    }
}

/// The server's own thread cannot wait for its end.
#[tokio::test]
async fn a_closure_may_drop_the_last_clone() {
    let vendor = MockVendor::start().await;
    let url = vendor.url("/");
    let (give, take) = std::sync::mpsc::channel();
    vendor.set_script(respond_with(move |_| {
        drop(take.recv());
        reply(200)
    }));
    let client = client();
    let answer = tokio::spawn(async move { get(&client, url).await.status() });
    give.send(vendor).unwrap();
    // Answered, or cut off by the end of the server, but not held up by it.
    let end = timeout(Duration::from_secs(10), answer).await;
    assert!(end.is_ok(), "the server waits for itself");
}
