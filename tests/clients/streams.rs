//! Many streams over one connection of HTTP/2, and the family cools in the middle.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use http::{Response, StatusCode};
use http_body_util::Empty;
use tokio::sync::Semaphore;

use crate::adapters::{Adapter, family, get, stack, through};
use crate::server::Server;

through!(hyper_http2: Hyper2, hyper_tls_http2: HyperTls2, reqwest_http2: Reqwest2, middleware_http2: Middleware2,
    tonic: Tonic, axum_http2: Axum2 => [eighty_streams_and_the_family_cools_in_the_middle]);

async fn eighty_streams_and_the_family_cools_in_the_middle(adapter: Adapter) {
    let (asked, limited) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let all_here = Arc::new(Semaphore::new(0));
    let server = Server::start({
        let limited = limited.clone();
        move |request| {
            // Without one, a client with TLS cannot know that the connection takes all: it opens eighty.
            let warm = request.uri().path() == "/warm";
            let at = if warm { 0 } else { asked.fetch_add(1, Ordering::SeqCst) + 1 };
            let (limited, all_here) = (limited.clone(), all_here.clone());
            async move {
                // All eighty are on the wire at once before the first of them is answered.
                if at == 80 {
                    all_here.close();
                }
                if !warm {
                    let _ = all_here.acquire().await;
                }
                let mut answer = Response::new(Empty::<bytes::Bytes>::new());
                if (41..=80).contains(&at) {
                    limited.fetch_add(1, Ordering::SeqCst);
                    *answer.status_mut() = StatusCode::TOO_MANY_REQUESTS;
                    answer.headers_mut().insert("retry-after-ms", http::HeaderValue::from_static("200"));
                }
                answer
            }
        }
    })
    .await;
    let families = family(&server.authority());
    let vendor = adapter.around(&stack(&families, Duration::from_secs(60)));
    assert_eq!(vendor.status(get(server.url("/warm"))).await, StatusCode::OK);
    let calls = (0..80).map(|n| vendor.status(get(server.url(&format!("/{n}")))));
    let answers = join_all(calls).await;
    assert!(answers.iter().all(|status| *status == StatusCode::OK), "{answers:?}");
    assert_eq!(limited.load(Ordering::SeqCst), 40);
    assert_eq!(server.connections(), 1);
    let health = families.health();
    assert_eq!(health.family("quotes").map(|family| family.strikes), Some(1), "{health}");
}
