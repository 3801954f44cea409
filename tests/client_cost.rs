//! What a stack adds to a call of reqwest, in allocations. The only test of its process, since it counts those of all threads,
//! the server's too, which are the same for each.

use std::time::Duration;

use forbear::{Families, Family, ForbearMiddleware};
use forbear_mock::{MockVendor, reply};
use reqwest_middleware::ClientBuilder;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static GLOBAL: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// More than the adapters look at for retries of others.
const CALLS: usize = 301;

/// The median of what a call allocates, late in the life of its client.
async fn allocations(mut call: impl AsyncFnMut()) -> usize {
    let mut counts = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let region = Region::new(GLOBAL);
        call().await;
        counts.push(region.change().allocations);
    }
    let late = &mut counts[CALLS - 101..];
    late.sort_unstable();
    late[50]
}

// reqwest-retry adds nine over loopback, docs/performance.md.
#[tokio::test]
async fn a_stack_adds_less_than_a_retry_middleware() {
    let mock = MockVendor::start().await.script(reply(200).body("17"));
    let families = Families::builder().family(Family::new("quotes").host(mock.authority())).build().unwrap();
    let budget = Duration::from_secs(30);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url: reqwest::Url = mock.url("/chart").parse().unwrap();
    let get = || client.get(url.clone()).build().unwrap();

    let plain = allocations(async || assert_eq!(client.execute(get()).await.unwrap().status(), 200)).await;
    let vendor = forbear::stack(&families).budget(budget).reqwest(client.clone());
    let stacked = allocations(async || assert_eq!(vendor.execute(get()).await.unwrap().status(), 200)).await;
    let bare = ClientBuilder::new(client.clone()).build();
    let bare = allocations(async || assert_eq!(bare.execute(get()).await.unwrap().status(), 200)).await;
    let with =
        ClientBuilder::new(client.clone()).with(ForbearMiddleware::new(&families).budget(budget)).build();
    let with = allocations(async || assert_eq!(with.execute(get()).await.unwrap().status(), 200)).await;
    let added = (stacked.saturating_sub(plain), with.saturating_sub(bare));
    assert!(added.0 <= 9 && added.1 <= 9, "{added:?} over {plain} and {bare}");
}
