//! Small bodies that unfold to huge ones.

use std::convert::Infallible;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};
use forbear::Signal;
use forbear_mock::{MockVendor, reply};
use futures_util::{StreamExt, stream};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Empty, StreamBody};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;

use crate::support::{SECOND, automatic};

const MIB: usize = 1 << 20;
/// To what a bomb unfolds, in MiB.
const SIZE: u32 = 128;
/// The smallest bomb without a length is as many frames.
const FRAME: usize = 64;

/// Of zeros, a thousand to one: one MiB after another, each coded without the others.
fn gzip() -> Vec<u8> {
    let zeros = vec![0; MIB];
    let mut one = DeflateEncoder::new(Vec::new(), Compression::best());
    one.write_all(&zeros).unwrap();
    one.flush().unwrap();
    let mut crc = Crc::new();
    let mut bomb = b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec();
    for _ in 0..SIZE {
        bomb.extend_from_slice(one.get_ref());
        crc.update(&zeros);
    }
    bomb.extend_from_slice(b"\x03\0");
    bomb.extend_from_slice(&crc.sum().to_le_bytes());
    bomb.extend_from_slice(&crc.amount().to_le_bytes());
    bomb
}

fn nested(inner: &[u8]) -> Vec<u8> {
    let mut outer = GzEncoder::new(Vec::new(), Compression::best());
    outer.write_all(inner).unwrap();
    outer.finish().unwrap()
}

/// Of zeros, in metablocks that announce 16 MiB, by brotli at quality 9 and its largest window.
fn br() -> Vec<u8> {
    let part = b"\0\x24\0\xe2\xb1\x40\x72\xef\xff\xf9\xff\xff\x0f\x80\x04\x40\x1c\x16\x80\xee\xfd\x3f\xff\xff\xff\x01\x90\0\x88\xc3\x02\xd0\
        \xbd\xff\xe7\xff\xff\x3f\0\x12\0\x71\x58\0\xba\xf7\xff\xfc\xff\xff\x07\x40\x02\x20\x0e\x0b\x40\xf7\xfe\x9f\xff\xff\xff\0\x48\
        \0\xc4\x61\x01\xe8\xde\xff\xf3\xff\xff\x1f\0\x09\x80\x38\x2c\0\xdd\xfb\x7f\xfe\xff\xff\x03\x20\x01\x10\x87\x05\xa0\x7b\xff\x3f";
    [b"\xcf\xff\xff\x7f", part.as_slice()].concat()
}

/// Of zeros, in blocks of 128 KiB that are four bytes long, with a window of 8 MiB.
fn zstd() -> Vec<u8> {
    let mut bomb = b"\x28\xb5\x2f\xfd\0\x68".to_vec();
    for _ in 1..SIZE * 8 {
        bomb.extend_from_slice(b"\x02\0\x10\0");
    }
    bomb.extend_from_slice(b"\x03\0\x10\0");
    bomb
}

fn bombs() -> Vec<(&'static str, Bytes)> {
    let gzip = gzip();
    assert!((128..140).contains(&(gzip.len() / 1024)), "{} bytes", gzip.len());
    let twice = nested(&gzip);
    vec![
        ("gzip, gzip, gzip", nested(&twice).into()),
        ("gzip, gzip", twice.into()),
        ("gzip", gzip.into()),
        ("br", br().into()),
        ("zstd", zstd().into()),
    ]
}

// JuliaWeb/HTTP.jl#1178, OneUptime/oneuptime#3404: a small body was decoded without a limit, and took all memory.
#[tokio::test]
async fn a_bomb_reaches_the_caller_as_it_is_and_its_head_counts() {
    for (coding, bomb) in bombs() {
        let answer = reply(429).retry_after(300).header("content-encoding", coding).body(bomb.clone());
        let mock = MockVendor::start().await.script(answer);
        let client: Client<HttpConnector, _> = Client::builder(TokioExecutor::new()).build_http();
        let vendor = forbear::stack(&automatic()).budget(SECOND).service(client);
        let request = Request::get(mock.url("/prices")).body(Empty::<Bytes>::new()).unwrap();
        let response = vendor.send(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers()["content-encoding"], coding);
        let signal = response.extensions().get::<Signal>().unwrap();
        let said = (signal.reason.as_str(), signal.delay.map(|delay| delay.duration));
        assert_eq!(said, ("retry-after", Some(300 * SECOND)), "{coding}");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        assert!(body == bomb, "{coding}: the caller gets other bytes");
    }
}

// JuliaWeb/HTTP.jl#1178: nor does it help to send no length.
#[tokio::test(start_paused = true)]
async fn of_a_bomb_without_a_length_only_the_start_is_read_before_it_is_passed_on() {
    for (coding, bomb) in bombs() {
        let read = Arc::<AtomicUsize>::default();
        let (sent, counted) = (bomb.clone(), Arc::clone(&read));
        let client = tower::service_fn(move |_: Request<_>| {
            let (bomb, counted) = (sent.clone(), Arc::clone(&counted));
            let frames = (0..bomb.len()).step_by(FRAME).map(move |at| {
                counted.fetch_add(1, Ordering::Relaxed);
                bomb.slice(at..bomb.len().min(at + FRAME))
            });
            let body =
                StreamBody::new(stream::iter(frames).map(|data| Ok::<_, Infallible>(Frame::data(data))));
            let response = Response::builder().status(429).header("retry-after", 300);
            let response = response.header("content-encoding", coding).body(body).unwrap();
            async { Ok::<_, Infallible>(response) }
        });
        let vendor = forbear::stack(&automatic()).budget(SECOND).service(client);
        let request = Request::get("http://vendor.test/prices").body(Empty::<Bytes>::new()).unwrap();
        let response = vendor.send(request).await.unwrap();
        assert!(read.load(Ordering::Relaxed) <= 4, "{coding}: {} frames", read.load(Ordering::Relaxed));
        assert_eq!(response.extensions().get::<Signal>().unwrap().reason.as_str(), "retry-after", "{coding}");
        assert!(response.into_body().collect().await.unwrap().to_bytes() == bomb, "{coding}");
    }
}
