//! What stored answers take. The only test of its process, since it counts allocations of all threads.
#![cfg(feature = "stale")]

use std::alloc::System;
use std::convert::Infallible;

use bytes::Bytes;
use forbear::{StaleLayer, StaleService};
use http::{Request, Response};
use http_body_util::{BodyExt, Empty, Full};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tower::{Layer, Service, ServiceExt};

#[global_allocator]
static GLOBAL: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const MIB: usize = 1 << 20;
/// So many small ones.
const COUNT: usize = 3_000;

type Asked = Request<Empty<Bytes>>;
type Answered = Response<Full<Bytes>>;

/// A vendor whose answers have a body as long as the path says, and the fields that one has.
fn vendor()
-> impl Service<Asked, Response = Answered, Error = Infallible, Future: Send> + Clone + Send + 'static {
    tower::service_fn(|request: Asked| async move {
        let length: usize = request.uri().path()[1..].parse().unwrap();
        let response = Response::builder()
            .header("content-type", "application/json; charset=utf-8")
            .header("cache-control", "public, max-age=3600, stale-if-error=86400")
            .header("date", "Tue, 01 Dec 2026 10:00:00 GMT")
            .header("etag", "\"3b7c-5f0a9c2e11d40\"")
            .header("server", "vendor/1.27")
            .header("content-length", length)
            .header("x-request-id", "0f6c1b9e-7d53-4c12-9a0e-2b7f4d9a8c11");
        Ok::<_, Infallible>(response.body(vec![b'x'; length].into()).unwrap())
    })
}

/// What the process holds since then.
fn held(region: &Region<'_, System>) -> usize {
    let change = region.change();
    change.bytes_allocated.saturating_sub(change.bytes_deallocated)
}

async fn read<S>(service: &StaleService<S>, length: usize, number: usize)
where
    S: Service<Asked, Response = Answered, Error = Infallible, Future: Send> + Clone + Send + 'static,
{
    let request =
        Request::get(format!("http://vendor.test/{length}?symbol={number}")).body(Empty::new()).unwrap();
    let response = service.clone().oneshot(request).await.unwrap();
    assert_eq!(response.into_body().collect().await.unwrap().to_bytes().len(), length);
    // Else the task that stores it has not ended.
    tokio::task::yield_now().await;
}

#[tokio::test(start_paused = true)]
async fn what_is_stored_takes_what_it_is_counted_for_and_a_gibibyte_passes_through_64_mebibytes() {
    // Small ones, of which there are many.
    let region = Region::new(GLOBAL);
    let service = StaleLayer::memory(64 * MIB as u64).layer(vendor());
    let empty = held(&region);
    for number in 0..COUNT {
        read(&service, 500, number).await;
    }
    let counted = service.stored_bytes() as usize;
    let real = held(&region) - empty;
    println!("{COUNT} answers of 500 bytes: {} each, counted as {}", real / COUNT, counted / COUNT);
    assert!((counted * 9 / 10..=counted * 11 / 10).contains(&real), "{real} for {counted}");
    drop(service);

    // Of all sizes, as fast as they come.
    let all = [1_000, 10_000, 100_000, 1_000_000];
    for (lengths, passes) in [(&all[..], 1024 * MIB), (&all[3..], 256 * MIB), (&all[1..2], 80 * MIB)] {
        let region = Region::new(GLOBAL);
        let service = StaleLayer::memory(64 * MIB as u64).layer(vendor());
        let (mut passed, mut most) = (0, 0);
        for number in 0.. {
            let length = lengths[number % lengths.len()];
            read(&service, length, number).await;
            passed += length;
            most = most.max(held(&region));
            if passed > passes {
                break;
            }
        }
        let stored = service.stored_bytes() as usize;
        println!("{lengths:?}: at most {} KiB held, {} KiB counted", most >> 10, stored >> 10);
        assert!(most <= 72 * MIB, "{lengths:?}: {} KiB", most >> 10);
        assert!((48 * MIB..=64 * MIB).contains(&stored), "{lengths:?}: {} KiB", stored >> 10);
    }
}
