//! Bodies pass whole, are sent once or the same again, and are not kept for longer than that takes.

use std::time::Duration;

use bytes::Bytes;
use forbear_mock::{MockVendor, reply};
use http::{Request, StatusCode};
use http_body_util::BodyExt;

use crate::adapters::{Adapter, family, post, stack, through};
use crate::upload::{self, Alive, upload};

const SECOND: Duration = Duration::from_secs(1);
const MIB: usize = 1 << 20;

through!([
    a_streamed_upload_and_download_pass_byte_for_byte,
    case_51_a_body_that_cannot_be_replayed_is_sent_once_and_its_429_returned,
    case_51_a_small_body_is_sent_again_the_same,
    case_52_an_upload_is_not_kept,
]);

async fn a_streamed_upload_and_download_pass_byte_for_byte(adapter: Adapter) {
    let back = Bytes::from(upload::bytes(2 * MIB + 7));
    let mock = MockVendor::start().await.script(reply(200).body(back.clone()));
    let vendor = adapter.around(&stack(&family(&mock.authority()), 30 * SECOND));
    let sent = Request::put(mock.url("/file")).body(upload(MIB + 5, &Alive::default())).unwrap();
    let answer = vendor.send(sent).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert!(answer.into_body().collect().await.unwrap().to_bytes() == back);
    let attempts = mock.attempts();
    assert_eq!(attempts.len(), 1);
    assert!(attempts[0].body()[..] == upload::bytes(MIB + 5));
}

// XAMPPRocky/octocrab#835, XAMPPRocky/octocrab#842, cloudflare/mcp#196, TrueLayer/reqwest-middleware#44: sent again with
// an empty body, or not sent at all because it cannot be cloned.
async fn case_51_a_body_that_cannot_be_replayed_is_sent_once_and_its_429_returned(adapter: Adapter) {
    let mock = MockVendor::start().await.script([reply(429).header("retry-after-ms", "1"), reply(200)]);
    let vendor = adapter.around(&stack(&family(&mock.authority()), 30 * SECOND));
    let sent = Request::put(mock.url("/file")).body(upload(MIB, &Alive::default())).unwrap();
    assert_eq!(vendor.status(sent).await, StatusCode::TOO_MANY_REQUESTS);
    let attempts = mock.attempts();
    assert_eq!(attempts.len(), 1);
    assert!(attempts[0].body()[..] == upload::bytes(MIB));
}

// The same reports.
async fn case_51_a_small_body_is_sent_again_the_same(adapter: Adapter) {
    let announced = post("http://unused.test", "7 of acme").into_body();
    for (small, length) in [(announced, true), (upload(40_000, &Alive::default()), false)] {
        let mock = MockVendor::start().await.script([reply(429).header("retry-after-ms", "1"), reply(200)]);
        let vendor = adapter.around(&stack(&family(&mock.authority()), 30 * SECOND));
        let sent = Request::post(mock.url("/orders")).body(small).unwrap();
        assert_eq!(vendor.status(sent).await, StatusCode::OK);
        let attempts = mock.attempts();
        assert_eq!(attempts.len(), 2);
        assert!(!attempts[0].body().is_empty());
        assert!(attempts[0].body() == attempts[1].body());
        let announced = |attempt: usize| attempts[attempt].headers().contains_key("content-length");
        assert_eq!((announced(0), !length || announced(1)), (length, true));
    }
}

// linkerd/linkerd2-proxy#1039: a replay buffer that grows with the upload.
async fn case_52_an_upload_is_not_kept(adapter: Adapter) {
    let mock = MockVendor::start().await.script(reply(200));
    let vendor = adapter.around(&stack(&family(&mock.authority()), 60 * SECOND));
    for known in [false, true] {
        let alive = Alive::default();
        let body = if known { upload::announced(16 * MIB, &alive) } else { upload(16 * MIB, &alive) };
        let sent = Request::put(mock.url("/file")).body(body).unwrap();
        assert_eq!(vendor.status(sent).await, StatusCode::OK);
        let attempt = &mock.attempts()[usize::from(known)];
        assert_eq!(attempt.body().len(), 16 * MIB);
        assert_eq!(attempt.headers().contains_key("content-length"), known);
        assert!(alive.most() < 2 * MIB, "{} bytes of the upload were alive at once", alive.most());
    }
}
