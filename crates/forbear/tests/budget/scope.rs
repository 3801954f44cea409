//! The ambient budget: in scope below the layer while its future is polled, and nowhere else.

use forbear::{Budget, BudgetLayer, RetryAfterLayer};
use tokio::time::Instant;
use tower::{Layer, ServiceBuilder, ServiceExt};

use crate::common::{Client, SECOND, answer, get, limited};
use crate::{Seen, looking, seen};

#[tokio::test(start_paused = true)]
async fn the_inner_service_sees_it_at_its_call_and_at_its_polls() {
    let service = BudgetLayer::new(10 * SECOND).layer(looking());
    let Seen { call, poll, carried } = seen(service.oneshot(get("http://vendor.test/")).await);
    let deadline = Some(Instant::now() + 10 * SECOND);
    assert_eq!(call.unwrap().deadline(), deadline);
    assert_eq!(poll.unwrap().deadline(), deadline);
    assert_eq!((carried, Budget::current()), (None, None));
}

#[tokio::test(start_paused = true)]
async fn a_nested_service_sees_the_earlier_one_and_the_outer_one_its_own_again() {
    let inner = BudgetLayer::new(10 * SECOND).layer(looking());
    let handler = tower::service_fn(move |request| {
        let inner = inner.clone();
        async move {
            let nested = seen(inner.clone().oneshot(request).await);
            let mut response = http::Response::new(http_body_util::Full::<bytes::Bytes>::default());
            response.extensions_mut().insert(Seen {
                call: nested.poll,
                poll: Budget::current(),
                carried: None,
            });
            Ok::<_, forbear::Error>(response)
        }
    });
    for (outer, nested) in [(4, 4), (60, 10)] {
        let inbound = BudgetLayer::new(outer * SECOND).layer(handler.clone());
        let Seen { call, poll, .. } = seen(inbound.oneshot(get("http://vendor.test/")).await);
        assert_eq!(call.unwrap().remaining(), nested * SECOND);
        assert_eq!(poll.unwrap().remaining(), outer * SECOND);
    }
}

#[tokio::test(start_paused = true)]
async fn a_spawned_task_is_outside_and_across_tasks_carries_it_there() {
    let spawning =
        tower::service_fn(|request| async { tokio::spawn(looking().oneshot(request)).await.unwrap() });
    let layer = BudgetLayer::new(10 * SECOND);
    let Seen { call, poll, carried } = seen(layer.layer(spawning).oneshot(get("http://vendor.test/")).await);
    assert_eq!((call, poll, carried), (None, None, None));
    let across = layer.across_tasks();
    let Seen { poll, carried, .. } = seen(across.layer(spawning).oneshot(get("http://vendor.test/")).await);
    assert_eq!((poll, carried.unwrap().remaining()), (None, 10 * SECOND));
}

/// The client's own task calls the service; the wait below it still knows the budget, read when it is polled.
#[tokio::test(start_paused = true)]
async fn it_reaches_through_a_buffer() {
    let client = Client::new([limited(429, 40), answer(200)]);
    let service = ServiceBuilder::new()
        .layer(BudgetLayer::new(30 * SECOND))
        .buffer(8)
        .layer(RetryAfterLayer::new())
        .service(client.clone());
    let start = Instant::now();
    let answer = service.oneshot(get("http://vendor.test/")).await.unwrap();
    assert_eq!((answer.status().as_u16(), client.sent()), (429, 1));
    assert_eq!(start.elapsed(), std::time::Duration::ZERO);
}
