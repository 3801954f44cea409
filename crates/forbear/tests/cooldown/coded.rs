//! Coded bodies: what they say is read, and they reach the caller coded, to the byte.

use std::convert::Infallible;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use forbear::body::Peeked;
use forbear::{Families, Signal};
use futures_util::{StreamExt, stream};
use http::Response;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tokio::time::Instant;
use tower::ServiceExt;

use crate::bodies::support::{Broken, Script, Step, data, trailers};
use crate::bodies::{REASON, calls, reason};
use crate::common::{MS, Sent, get};
use crate::{URL, families, phase, service};

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn zlib(plain: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn bare_deflate(plain: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn br(mut plain: &[u8]) -> Vec<u8> {
    let mut coded = Vec::new();
    brotli::BrotliCompress(&mut plain, &mut coded, &brotli::enc::BrotliEncoderParams::default()).unwrap();
    coded
}

fn zstd(plain: &[u8]) -> Vec<u8> {
    compress_to_vec(plain, CompressionLevel::Fastest)
}

/// The reason in every coding, and in some lists of codings.
fn coded() -> Vec<(&'static str, Vec<u8>)> {
    let plain = REASON.as_bytes();
    vec![
        ("gzip", gzip(plain)),
        ("X-GZIP", gzip(plain)),
        ("deflate", zlib(plain)),
        ("deflate", bare_deflate(plain)),
        ("br", br(plain)),
        ("zstd", zstd(plain)),
        ("gzip, br", br(&gzip(plain))),
        ("identity, zstd, deflate, gzip", gzip(&zlib(&zstd(plain)))),
    ]
}

#[tokio::test(start_paused = true)]
async fn a_coded_reason_is_read_and_the_caller_gets_the_coded_bytes() {
    for (coding, coded) in coded() {
        for piece in [1, 7, coded.len()] {
            let frames = coded.chunks(piece).flat_map(|piece| [Step::Later, data(""), data(piece.to_vec())]);
            let body = Script::new(frames.chain([Step::Trailers(trailers())]));
            let answer = calls(&families(), body, Some(coding)).await.unwrap();
            assert_eq!(reason(&answer), "inflight_limit", "{coding} in pieces of {piece}");
            assert_eq!(answer.headers()["content-encoding"], coding);
            let collected = answer.into_body().collect().await.unwrap();
            assert_eq!(collected.trailers(), Some(&trailers()));
            assert_eq!(collected.to_bytes(), coded);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn frames_that_came_are_passed_on_whole_however_little_of_them_is_decoded() {
    for (coding, coded) in coded() {
        let coded = Bytes::from([coded.as_slice(), &vec![b'x'; 64 * 1024]].concat());
        let body = Script::new([data(coded.clone()), data("tail"), Step::Trailers(trailers())]);
        let answer = calls(&families(), body, Some(coding)).await.unwrap();
        assert_eq!(reason(&answer), "inflight_limit", "{coding}: what follows the end is nothing");
        let mut body = answer.into_body();
        let frame = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!((frame.as_ptr(), frame.len()), (coded.as_ptr(), coded.len()), "{coding}");
        let rest = body.collect().await.unwrap();
        assert_eq!(rest.trailers(), Some(&trailers()));
        assert_eq!(rest.to_bytes(), "tail");
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_body_is_the_callers_and_the_head_counts() {
    for (coding, coded) in coded() {
        let (start, end) = coded.split_at(coded.len() / 2);
        let garbage = b"\xff\x00<html>\xff".to_vec();
        for (what, steps) in [
            ("cut off", vec![data(start.to_vec())]),
            ("failed", vec![data(start.to_vec()), Step::Error]),
            ("garbage", vec![data(garbage.clone())]),
            ("damaged", vec![data([start, &garbage, end].concat())]),
            ("empty", vec![]),
            ("of empty frames", vec![data(""), data("")]),
        ] {
            let families = families();
            let body = Script::new(steps.clone()).inexact();
            let answer = calls(&families, body, Some(coding)).await.unwrap();
            assert_eq!(reason(&answer), "retry-after", "{coding}, {what}");
            assert_eq!(phase(&families, "vendor"), "cooling", "{coding}, {what}");
            let mut body = answer.into_body();
            for step in steps {
                match step {
                    Step::Data(sent) => {
                        assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), sent);
                    }
                    _ => assert_eq!(body.frame().await.unwrap().unwrap_err(), Broken),
                }
            }
            assert!(body.frame().await.is_none());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_coded_body_that_stalls_is_looked_at_for_a_quarter_of_a_second() {
    // Without their last bytes, which hold a checksum: the reason is there.
    for (coding, coded) in [("gzip", gzip(REASON.as_bytes())), ("deflate", zlib(REASON.as_bytes()))] {
        let start = Instant::now();
        let body = Script::new([data(coded[..coded.len() - 3].to_vec()), Step::Stall]).inexact();
        let answer = calls(&families(), body, Some(coding)).await.unwrap();
        assert_eq!((start.elapsed(), reason(&answer).as_str()), (250 * MS, "inflight_limit"), "{coding}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_of_a_false_length_is_passed_on_as_it_is() {
    let (client, sent) = (Families::builder().build().unwrap(), gzip(REASON.as_bytes()));
    let coded = sent.clone();
    let answer = tower::service_fn(move |_: http::Request<Sent>| {
        let response = Response::builder()
            .status(429)
            .header("retry-after", 5)
            .header("content-encoding", "gzip")
            .header("content-length", 1_000_000);
        let response = response.body(Script::new([data(coded.clone())]).inexact()).unwrap();
        async { Ok::<_, Infallible>(response) }
    });
    let answer = service(&client, answer).oneshot(get(URL)).await.unwrap();
    assert_eq!(answer.extensions().get::<Signal>().unwrap().reason.as_str(), "inflight_limit");
    assert_eq!(answer.headers()["content-length"], "1000000");
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), sent);
}

/// An answer of endless `frames`, and how many were asked for when it came.
async fn endless(
    coding: &'static str,
    head: Vec<u8>,
    frame: Vec<u8>,
) -> (Response<Peeked<impl http_body::Body<Data = Bytes, Error = Broken>>>, usize) {
    let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let client = tower::service_fn(move |_: http::Request<Sent>| {
        let (head, frame, counted) =
            (Bytes::from(head.clone()), Bytes::from(frame.clone()), Arc::clone(&counted));
        let frames = stream::iter([head]).chain(stream::repeat_with(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            frame.clone()
        }));
        let body = StreamBody::new(frames.map(|data| Ok::<_, Broken>(Frame::data(data))));
        let response = Response::builder().status(429).header("content-encoding", coding).body(body).unwrap();
        async { Ok::<_, Infallible>(response) }
    });
    let answer = service(&families(), client).oneshot(get(URL)).await.unwrap();
    (answer, asked.load(Ordering::Relaxed))
}

#[tokio::test(start_paused = true)]
async fn an_endless_stream_passes_at_once() {
    let start = Instant::now();
    let block = {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&[b'x'; 1000]).unwrap();
        encoder.flush().unwrap();
        encoder.get_ref().clone()
    };
    let gzip_head = b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec();
    let zstd_head = b"\x28\xb5\x2f\xfd\0\x58".to_vec();
    for (coding, head, frame, most) in [
        // 16 KiB of decoded bytes: at 1,000 bytes a frame, and at 128 KiB a frame.
        ("gzip", gzip_head.clone(), block.clone(), 17),
        ("deflate", Vec::new(), block, 17),
        ("zstd", zstd_head.clone(), b"\x02\0\x10x".to_vec(), 1),
        // 17 KiB of coded bytes, where nothing comes out.
        ("gzip", gzip_head, b"\0\0\0\xff\xff".to_vec(), 17 * 1024 / 5),
        ("zstd", zstd_head, b"\0\0\0".to_vec(), 17 * 1024 / 3),
        ("br", b"\x0c".to_vec(), b"\x06".to_vec(), 17 * 1024),
        ("zstd", Vec::new(), Vec::new(), 17 * 1024),
    ] {
        let (answer, asked) = endless(coding, head, frame.clone()).await;
        assert!((1..=most).contains(&asked), "{coding}: {asked} frames, at most {most}");
        assert_eq!(answer.extensions().get::<Signal>().unwrap().reason.as_str(), "status-429", "{coding}");
        let mut body = answer.into_body();
        let _head = body.frame().await;
        for _ in 0..asked + 100 {
            assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), frame, "{coding}");
        }
    }
    assert!(start.elapsed().is_zero());
}
