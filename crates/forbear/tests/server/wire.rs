//! axum on a real socket, a vendor on another.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use bytes::Bytes;
use forbear::axum::{InboundBudget, InboundBudgetLayer, Refusal, RefusalResponseLayer};
use forbear::{Budget, Error, Families, Family, Vendor, body::Replay};
use forbear_mock::{MockVendor, reply};
use http::Request;
use http_body_util::{BodyExt, Empty};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::time::Instant;
use tower::ServiceBuilder;

use crate::told;

type Http = Client<HttpConnector, Replay<Empty<Bytes>>>;

#[derive(Clone)]
struct Quotes {
    vendor: Vendor<Http>,
    base: String,
}

impl Quotes {
    async fn ask(&self, path: &str) -> Result<Response, Error> {
        let url = format!("{}{path}", self.base);
        let request = Request::get(url).body(Empty::new()).map_err(Error::from_inner)?;
        Ok(self.vendor.send(request).await?.map(Body::new))
    }
}

fn quotes(mock: &MockVendor) -> Quotes {
    let families = Families::builder().family(Family::new("quotes").host(mock.authority())).build().unwrap();
    let client = Client::builder(TokioExecutor::new()).build_http();
    let vendor = forbear::stack(&families).budget(Duration::from_secs(30)).service(client);
    Quotes { vendor, base: mock.uri() }
}

/// Serves `app` behind both layers; the URL of its root.
async fn serve(app: Router) -> String {
    let layers = ServiceBuilder::new()
        .layer(InboundBudgetLayer::new(Duration::from_secs(20)))
        .layer(RefusalResponseLayer::new());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app.layer(layers)).await });
    format!("http://{server}")
}

async fn call(url: String, header: Option<(&str, &str)>) -> http::Response<hyper::body::Incoming> {
    let mut request = Request::get(url);
    if let Some((name, value)) = header {
        request = request.header(name, value);
    }
    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    client.request(request.body(Empty::new()).unwrap()).await.unwrap()
}

#[tokio::test]
async fn an_inbound_deadline_bounds_two_outbound_calls_together() {
    let mock = MockVendor::start()
        .await
        .script(reply(200))
        .route("/second", reply(200).delay(Duration::from_secs(60)));
    let both = |State(quotes): State<Quotes>| async move {
        quotes.ask("/first").await?;
        quotes.ask("/second").await
    };
    let server = serve(Router::new().route("/", get(both)).with_state(quotes(&mock))).await;
    for header in [("x-request-timeout-ms", "300"), ("grpc-timeout", "300m")] {
        let start = Instant::now();
        let told = told(call(format!("{server}/"), Some(header)).await).await;
        let took = start.elapsed();
        assert_eq!((told.status, told.retry_after, told.by.as_deref()), (504, None, Some("local")));
        // Far from the vendor's 60 s, the stack's 30 s and the server's 20 s.
        assert!(took >= Duration::from_millis(295) && took < Duration::from_secs(10), "{took:?}");
    }
    mock.assert_attempts_on("/first", 2);
    mock.assert_attempts_on("/second", 2);
}

#[tokio::test]
async fn refusals_reach_the_caller_as_problems() {
    let mock = MockVendor::start().await.script(reply(429).retry_after(120).body("vendor's words"));
    let one = |State(quotes): State<Quotes>| async move { quotes.ask("/chart?api_key=CANARY").await };
    let by_hand = |State(quotes): State<Quotes>| async move {
        let answer = quotes.ask("/chart").await?;
        Refusal::limited(&answer).map_or(Ok(answer), Err)
    };
    let app = Router::new().route("/", get(one)).route("/by-hand", get(by_hand)).with_state(quotes(&mock));
    let server = serve(app).await;
    for (path, by) in [("/", "vendor"), ("/", "local"), ("/by-hand", "local")] {
        let told = told(call(format!("{server}{path}"), None).await).await;
        assert_eq!((told.status, told.by.as_deref()), (503, Some(by)));
        let seconds: u64 = told.retry_after.unwrap().parse().unwrap();
        assert!((100..=120).contains(&seconds), "{seconds}");
        assert_eq!((&told.problem["family"], &told.problem["status"]), (&"quotes".into(), &503.into()));
        assert!(!told.problem.to_string().contains("CANARY"));
    }
    mock.assert_attempts(1);
}

#[tokio::test]
async fn a_handler_reads_what_is_left_and_a_spawned_task_takes_it_along() {
    let mock = MockVendor::start().await.script(reply(200).delay(Duration::from_secs(60)));
    let left = |inbound: InboundBudget| async move {
        inbound.remaining().map_or_else(String::new, |left| left.as_millis().to_string())
    };
    let spawning = |State(quotes): State<Quotes>, inbound: InboundBudget| async move {
        let task = tokio::spawn(async move {
            assert_eq!(Budget::current(), None);
            let mut request = Request::get(format!("{}/", quotes.base)).body(Empty::new()).unwrap();
            request.extensions_mut().insert(inbound.budget().unwrap());
            quotes.vendor.send(request).await.map(|answer| answer.map(Body::new))
        });
        task.await.unwrap()
    };
    let app =
        Router::new().route("/left", get(left)).route("/spawn", get(spawning)).with_state(quotes(&mock));
    let server = serve(app).await;
    let body = call(format!("{server}/left"), Some(("grpc-timeout", "5S"))).await.into_body();
    let millis: u64 = serde_json::from_slice(&body.collect().await.unwrap().to_bytes()).unwrap();
    assert!(millis > 0 && millis <= 5000, "{millis}");
    let start = Instant::now();
    let answer = call(format!("{server}/spawn"), Some(("x-request-timeout-ms", "200"))).await;
    assert_eq!(answer.status(), 504);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

/// The body is the caller's time: it goes on where the handler's calls had to end.
#[tokio::test]
async fn a_streamed_body_is_outside_the_deadline() {
    let text = "0123456789".repeat(8);
    let slow = reply(200).body(text.clone()).slow_body(10, Duration::from_millis(100));
    let mock = MockVendor::start().await.script(slow);
    let one = |State(quotes): State<Quotes>| async move { quotes.ask("/").await };
    let server = serve(Router::new().route("/", get(one)).with_state(quotes(&mock))).await;
    let start = Instant::now();
    let answer = call(format!("{server}/"), Some(("x-request-timeout-ms", "400"))).await;
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.into_body().collect().await.unwrap().to_bytes(), text);
    assert!(start.elapsed() > Duration::from_millis(400), "{:?}", start.elapsed());
}

/// On one thread, where a scope that is left behind would show.
#[tokio::test(flavor = "current_thread")]
async fn a_panic_or_a_caller_that_leaves_lets_go_of_everything() {
    struct Gone(Arc<AtomicBool>, Arc<Notify>);
    impl Drop for Gone {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
            self.1.notify_one();
        }
    }
    let (gone, told_gone, began) =
        (Arc::new(AtomicBool::new(false)), Arc::new(Notify::new()), Arc::new(Notify::new()));
    let held = (Arc::clone(&gone), Arc::clone(&told_gone), Arc::clone(&began));
    let hanging = move || {
        let (gone, told_gone, began) = held.clone();
        async move {
            let _gone = Gone(gone, told_gone);
            began.notify_one();
            std::future::pending::<()>().await;
        }
    };
    let panicking = || async { std::panic::resume_unwind(Box::new("handler")) };
    let panicking = move || async move {
        let () = panicking().await;
    };
    let server = serve(Router::new().route("/hang", get(hanging)).route("/panic", get(panicking))).await;

    let client = Client::builder(TokioExecutor::new()).build_http::<Empty<Bytes>>();
    assert!(client.get(format!("{server}/panic").parse().unwrap()).await.is_err());
    assert_eq!(Budget::current(), None);

    let caller = tokio::spawn(client.get(format!("{server}/hang").parse().unwrap()));
    began.notified().await;
    assert_eq!(Budget::current(), None);
    caller.abort();
    drop(client);
    told_gone.notified().await;
    assert!(gone.load(Ordering::SeqCst));
    assert_eq!(Budget::current(), None);
}
