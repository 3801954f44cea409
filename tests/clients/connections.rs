//! What a throttled answer costs in connections.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::{Response, StatusCode};
use http_body::Frame;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, StreamBody};

use crate::adapters::{Adapter, family, get, stack, through};
use crate::server::Server;

const SECOND: Duration = Duration::from_secs(1);

through!([
    a_discarded_small_429_does_not_cost_the_connection,
    a_discarded_large_429_is_dropped,
    case_54_nothing_is_held_while_it_waits,
]);

/// A body of that length, of which the end comes a moment later: what was let go before is not there yet.
fn late(length: usize) -> UnsyncBoxBody<Bytes, Infallible> {
    let (start, end) = (length / 2, length - length / 2);
    let pieces = stream::iter([(start, 0), (end, 20)]).then(|(piece, millis)| async move {
        tokio::time::sleep(Duration::from_millis(millis)).await;
        Ok(Frame::data(Bytes::from(vec![b'x'; piece])))
    });
    StreamBody::new(pieces).boxed_unsync()
}

/// The first answer says 429 and how long to wait, with a body of that length; the others say 200.
async fn limits_once(wait: Duration, length: usize) -> Server {
    let asked = Arc::new(AtomicUsize::new(0));
    Server::start(move |_| {
        let first = asked.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            if !first {
                return Response::new(Empty::new().boxed_unsync());
            }
            let mut limited = Response::new(late(length));
            *limited.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            let wait = wait.as_millis().to_string().parse().unwrap();
            limited.headers_mut().insert("retry-after-ms", wait);
            limited
        }
    })
    .await
}

async fn a_discarded_small_429_does_not_cost_the_connection(adapter: Adapter) {
    let server = limits_once(Duration::from_millis(1), 40_000).await;
    let vendor = adapter.around(&stack(&family(&server.authority()), 30 * SECOND));
    assert_eq!(vendor.status(get(server.url("/chart"))).await, StatusCode::OK);
    // The 429 and the 200 after it.
    assert_eq!(server.connections(), 1);
}

async fn a_discarded_large_429_is_dropped(adapter: Adapter) {
    let server = limits_once(Duration::from_millis(1), 16 << 20).await;
    let vendor = adapter.around(&stack(&family(&server.authority()), 30 * SECOND));
    assert_eq!(vendor.status(get(server.url("/chart"))).await, StatusCode::OK);
    // HTTP/1 has to close it, HTTP/2 ends the stream.
    assert_eq!(server.connections(), if adapter.has_streams() { 1 } else { 2 });
}

// DataDog/datadog-api-client-java#2079, Infisical/node-sdk-v2#36: the answer was kept open through the wait.
async fn case_54_nothing_is_held_while_it_waits(adapter: Adapter) {
    let server = limits_once(60 * SECOND, 16 << 20).await;
    let other = limits_once(Duration::ZERO, 0).await;
    let vendor = adapter.around(&stack(&family(&server.authority()), 300 * SECOND));
    let meanwhile = async {
        while server.connections() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if !adapter.has_streams() {
            while server.open() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        assert_eq!(vendor.status(get(other.url("/news"))).await, StatusCode::OK);
    };
    tokio::select! {
        answer = vendor.send(get(server.url("/chart"))) => panic!("{answer:?}"),
        free = tokio::time::timeout(20 * SECOND, meanwhile) => free.expect("the connection is let go before the wait"),
    }
}
