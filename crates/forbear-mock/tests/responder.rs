//! A vendor's scripts on a wiremock server.
#![cfg(feature = "wiremock")]

use std::time::Duration;

use bytes::Bytes;
use forbear_mock::{Limiter, MockVendor, reply};
use http::{Request, Response};
use http_body_util::{BodyExt, Empty};
use hyper_util::{client::legacy::Client, rt::TokioExecutor};
use wiremock::matchers::{any, path};
use wiremock::{Mock, MockServer, ResponseTemplate};

async fn get(url: &str) -> Response<Bytes> {
    let client = Client::builder(TokioExecutor::new()).build_http();
    let response = client.request(Request::get(url).body(Empty::<Bytes>::new()).unwrap()).await.unwrap();
    let (head, body) = response.into_parts();
    Response::from_parts(head, body.collect().await.unwrap().to_bytes())
}

async fn mounted(vendor: &MockVendor) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(path("/own")).respond_with(ResponseTemplate::new(204)).mount(&server).await;
    Mock::given(any()).respond_with(vendor.responder()).mount(&server).await;
    server
}

#[tokio::test]
async fn a_script_answers_beside_mocks_of_ones_own() {
    let vendor = MockVendor::in_process().script([reply(429).retry_after(7).body("later"), reply(200)]);
    let server = mounted(&vendor).await;
    let first = get(&format!("{}/quotes?symbol=A", server.uri())).await;
    assert_eq!((first.status().as_u16(), first.headers()["retry-after"].as_bytes()), (429, &b"7"[..]));
    assert_eq!(&first.body()[..], b"later");
    assert_eq!(get(&format!("{}/own", server.uri())).await.status(), 204);
    assert_eq!(get(&format!("{}/quotes", server.uri())).await.status(), 200);
    let attempts = vendor.attempts();
    assert_eq!(attempts.len(), 2);
    assert_eq!((attempts[0].path(), attempts[0].query()), ("/quotes", Some("symbol=A")));
}

#[tokio::test]
async fn limits_answer_and_what_wiremock_cannot_do_is_said() {
    let vendor = MockVendor::in_process()
        .script([reply(200).reset()])
        .limit(Limiter::fixed_window(1, Duration::from_secs(60)));
    let server = mounted(&vendor).await;
    let broken = get(&server.uri()).await;
    assert_eq!(broken.status(), 501);
    assert!(String::from_utf8_lossy(broken.body()).contains("MockVendor::start"));
    assert_eq!(get(&server.uri()).await.status(), 429);
}

#[tokio::test]
async fn the_log_shows_what_wiremock_answered() {
    let slow = reply(200).body("whole").slow_body(1, Duration::from_secs(60));
    let lie = reply(200).header("content-length", "9").body("whole");
    let true_length = reply(200).header("content-length", "5").body("whole");
    let vendor = MockVendor::in_process().script([slow, lie, reply(200).half_close(), true_length]);
    let server = mounted(&vendor).await;
    for expected in [501, 501, 501, 200] {
        assert_eq!(get(&server.uri()).await.status(), expected);
    }
    let logged: Vec<_> = vendor.attempts().iter().map(|attempt| attempt.status().unwrap().as_u16()).collect();
    assert_eq!(logged, [501, 501, 501, 200]);
}
