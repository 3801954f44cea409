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

// What docs/reqwest.md says.
#[tokio::test]
async fn what_a_stack_adds_to_a_call_is_bounded() {
    let mock = MockVendor::start().await.script(reply(200).body("17"));
    let families = Families::builder().family(Family::new("quotes").host(mock.authority())).build().unwrap();
    let budget = Duration::from_secs(30);
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let url: reqwest::Url = mock.url("/chart").parse().unwrap();
    let uri: http::Uri = mock.url("/chart").parse().unwrap();
    let get = || client.get(url.clone()).build().unwrap();

    let plain = allocations(async || assert_eq!(client.execute(get()).await.unwrap().status(), 200)).await;
    let vendor = forbear::stack(&families).budget(budget).reqwest(client.clone());
    let sent = allocations(async || {
        let request = http::Request::get(uri.clone()).body(reqwest::Body::default()).unwrap();
        assert_eq!(vendor.send(request).await.unwrap().status(), 200);
    })
    .await;
    let executed = allocations(async || assert_eq!(vendor.execute(get()).await.unwrap().status(), 200)).await;
    let middleware =
        ClientBuilder::new(client.clone()).with(ForbearMiddleware::new(&families).budget(budget)).build();
    let with = allocations(async || assert_eq!(middleware.execute(get()).await.unwrap().status(), 200)).await;
    let added = [sent, executed, with].map(|all| all.saturating_sub(plain));
    assert!(added[0] <= 4 && added[1] <= 11 && added[2] <= 15, "{added:?} over {plain}");
    assert!(added.iter().all(|added| *added > 0), "{added:?} over {plain}");
}
