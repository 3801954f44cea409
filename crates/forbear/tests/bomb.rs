//! What a look at a bomb takes, through the layer. The only test of its process, since it counts allocations of all
//! threads.
#![cfg(all(feature = "cooldown", feature = "decompression"))]

use std::alloc::System;
use std::convert::Infallible;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use forbear::{Families, FamilyCooldownLayer};
use futures_util::{StreamExt, stream};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{Empty, StreamBody};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tower::{Layer, Service};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const KIB: usize = 1024;
/// 128 KiB of zeros in four bytes.
const BLOCK: Bytes = Bytes::from_static(b"\x02\0\x10\0");
/// A frame with a window of 8 MiB.
const HEAD: Bytes = Bytes::from_static(b"\x28\xb5\x2f\xfd\0\x68");

/// All that is allocated while an endless bomb is answered with, looked at, and read for 16 MiB of what it claims.
#[tokio::test(start_paused = true)]
async fn a_look_at_an_endless_bomb_takes_the_memory_of_its_start() {
    let families = Families::builder().build().unwrap();
    let client = tower::service_fn(|_: Request<Empty<Bytes>>| async {
        let frames = stream::iter([HEAD]).chain(stream::repeat_with(|| BLOCK));
        let body = StreamBody::new(frames.map(|data| Ok::<_, Infallible>(Frame::data(data))));
        Ok::<_, Infallible>(
            Response::builder().status(429).header("content-encoding", "zstd").body(body).unwrap(),
        )
    });
    let mut service = FamilyCooldownLayer::new(families).layer(client);
    let mut cx = Context::from_waker(Waker::noop());
    let request = Request::get("http://vendor.test/").body(Empty::new()).unwrap();

    let region = Region::new(GLOBAL);
    assert!(service.poll_ready(&mut cx).is_ready());
    let Poll::Ready(answer) = pin!(service.call(request)).poll(&mut cx) else {
        panic!("the look waits for nothing")
    };
    let looked = region.change().bytes_allocated;
    let mut body = pin!(answer.unwrap().into_body());
    for _ in 0..128 {
        assert!(http_body::Body::poll_frame(body.as_mut(), &mut cx).is_ready());
    }
    let read = region.change().bytes_allocated;
    assert!(looked <= 256 * KIB, "{} KiB for the look", looked / KIB);
    assert_eq!(read, looked, "passing it on takes none");
}
