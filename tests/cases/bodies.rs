//! Request bodies that are sent again, or cannot be.

use std::convert::Infallible;

use bytes::Bytes;
use forbear::body::Replay;
use forbear::{Families, RetryAfterLayer};
use forbear_mock::{MockVendor, reply};
use futures_util::stream;
use http::{Request, StatusCode};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use tokio::time::Instant;

use crate::support::{SECOND, automatic, impatient, registered, stacked};

const MIB: usize = 1 << 20;

/// A mebibyte in which every frame differs.
fn payload() -> Bytes {
    (0..MIB).map(|at| u8::try_from((at * 31 + at / 4096) % 251).unwrap_or(0)).collect()
}

/// A body that says nothing of its length, in frames of 16 KiB.
fn streamed() -> impl Body<Data = Bytes, Error = Infallible> + Unpin + Send + 'static {
    let payload = payload();
    let frames = (0..MIB / 16_384).map(move |at| payload.slice(at * 16_384..(at + 1) * 16_384));
    StreamBody::new(stream::iter(frames.map(|data| Ok(Frame::data(data)))))
}

fn over_sockets<B>() -> Client<HttpConnector, Replay<B>>
where
    B: Body<Data = Bytes, Error = Infallible> + Unpin + Send + 'static,
{
    Client::builder(TokioExecutor::new()).build_http()
}

/// One POST over a socket to a vendor that answers 429 once, with as much kept as `layer` says.
async fn post<B>(body: B, layer: RetryAfterLayer) -> (StatusCode, MockVendor)
where
    B: Body<Data = Bytes, Error = Infallible> + Unpin + Send + 'static,
{
    let mock = MockVendor::start().await.script([reply(429).retry_after(0), reply(200)]);
    let families: Families = automatic();
    let vendor = forbear::stack(&families).budget(30 * SECOND).retry_after(layer).service(over_sockets());
    let request = Request::post(mock.url("/orders")).body(body).unwrap();
    let response = vendor.send(request).await.unwrap();
    let status = response.status();
    response.into_body().collect().await.unwrap();
    (status, mock)
}

// XAMPPRocky/octocrab#835, XAMPPRocky/octocrab#842, cloudflare/mcp#196: the second attempt was sent with an empty body.
#[tokio::test]
async fn a_streamed_body_is_sent_again_byte_for_byte() {
    let (status, mock) = post(streamed(), RetryAfterLayer::new().replay_limit(2 * MIB)).await;
    assert_eq!(status, StatusCode::OK);
    mock.assert_attempts(2);
    for attempt in &mock.attempts() {
        assert!(*attempt.body() == payload(), "attempt {} differs", attempt.number());
    }
}

// TrueLayer/reqwest-middleware#44: a body that cannot be repeated made the whole call fail.
#[tokio::test]
async fn a_body_over_the_limit_is_sent_once_and_its_429_returned() {
    let layer = RetryAfterLayer::new();
    for (status, mock) in [
        post(streamed(), layer.clone()).await,
        post(Full::new(payload()), layer.clone()).await,
        post(streamed(), layer.without_replay()).await,
    ] {
        assert_eq!(status, StatusCode::TOO_MANY_REQUESTS);
        mock.assert_attempts(1);
        assert!(*mock.attempts()[0].body() == payload());
    }
}

// TrueLayer/reqwest-middleware#44: a refusal reads nothing of a body, so it may be of any size.
#[tokio::test(start_paused = true)]
async fn a_refused_body_over_the_limit_is_sent_whole_after_the_wait() {
    let mock = MockVendor::in_process().script([reply(429).retry_after(5), reply(200)]);
    let families = registered();
    assert_eq!(stacked(&families, 30 * SECOND, &mock).send(impatient("/")).await.unwrap().status(), 429);
    let vendor = forbear::stack(&families).budget(30 * SECOND).service(mock.service());
    let start = Instant::now();
    let response =
        vendor.send(Request::post("http://vendor.test/orders").body(streamed()).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert!(start.elapsed() >= 5 * SECOND);
    mock.assert_attempts(2);
    assert!(*mock.attempts()[1].body() == payload());
}
