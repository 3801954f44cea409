//! Which requests are sent again.

use forbear::RetryAfterLayer;
use http::{HeaderValue, Method};
use tower::{Layer, ServiceExt};

use crate::common::{Act, Client, answer, limited, request};

async fn is_repeated(method: Method, key: bool, act: Act) -> bool {
    let client = Client::new([act, answer(200)]);
    let mut request = request(method, "http://vendor.test/a");
    if key {
        request.headers_mut().insert("idempotency-key", HeaderValue::from_static("8e03978e"));
    }
    let answer = RetryAfterLayer::new().layer(client.clone()).oneshot(request).await.unwrap();
    assert_eq!(answer.status() == 200, client.sent() == 2);
    client.sent() == 2
}

#[tokio::test(start_paused = true)]
async fn a_429_was_not_carried_out_so_any_method_is_repeated() {
    for method in [Method::GET, Method::PUT, Method::POST, Method::PATCH] {
        assert!(is_repeated(method.clone(), false, limited(429, 1)).await, "{method}");
    }
}

#[tokio::test(start_paused = true)]
async fn other_signals_repeat_only_what_is_idempotent_or_keyed() {
    for act in [limited(503, 1), answer(529)] {
        for method in [Method::GET, Method::HEAD, Method::PUT, Method::DELETE, Method::OPTIONS] {
            assert!(is_repeated(method.clone(), false, act).await, "{method}");
        }
        for method in [Method::POST, Method::PATCH] {
            assert!(!is_repeated(method.clone(), false, act).await, "{method}");
            assert!(is_repeated(method.clone(), true, act).await, "{method} with a key");
        }
    }
}
