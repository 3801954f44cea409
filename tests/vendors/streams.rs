//! A limit inside a stream of events that began with 200, where one asks for that.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use forbear::body::{BoxError, Replay};
use forbear::{Class, Dialect, Families, Family, presets};
use futures_util::{Stream, StreamExt};
use http::{Request, Response, StatusCode};
use http_body::Frame;
use http_body_util::{BodyExt, Full, StreamBody};
use tokio::time::Instant;

const OVERLOADED: &str =
    "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n";
const STARTED: &str = "event: message_start\ndata: {\"type\":\"message_start\"}\n\n";
const MORE: &str = "event: ping\ndata: {\"type\":\"ping\"}\n\n";

fn families(dialect: Dialect) -> Families {
    Families::builder().family(Family::new("anthropic").host("vendor.test").dialect(dialect)).build().unwrap()
}

/// A stream whose second event comes ten seconds after the first.
fn stream(first: &'static str) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> {
    let event = |event: &'static str| Ok(Frame::data(Bytes::from_static(event.as_bytes())));
    let later = futures_util::stream::once(async move {
        tokio::time::sleep(Duration::from_secs(10)).await;
        event(MORE)
    });
    futures_util::stream::iter([event(first)]).chain(later)
}

async fn ask(families: &Families, first: &'static str) -> (StatusCode, Duration, Bytes) {
    let client = tower::service_fn(move |_: Request<Replay<Full<Bytes>>>| async move {
        let response = Response::builder().header("content-type", "text/event-stream");
        Ok::<_, BoxError>(response.body(StreamBody::new(Box::pin(stream(first)))).unwrap())
    });
    let vendor = forbear::stack(families).service(client);
    let began = Instant::now();
    let request = Request::post("http://vendor.test/v1/messages").body(Full::<Bytes>::default()).unwrap();
    let response = vendor.send(request).await.unwrap();
    let (status, after) = (response.status(), began.elapsed());
    (status, after, response.into_body().collect().await.unwrap().to_bytes())
}

#[tokio::test(start_paused = true)]
async fn a_limit_in_the_first_event_strikes_and_the_stream_is_whole() {
    let families = families(presets::anthropic().event_streams());
    let (status, after, whole) = ask(&families, OVERLOADED).await;
    assert_eq!((status, whole), (StatusCode::OK, format!("{OVERLOADED}{MORE}").into()));
    assert_eq!(after, Duration::ZERO, "the first event is enough");
    let signal = families.health().families[0].last_signal.clone().unwrap();
    assert_eq!((signal.class, signal.reason.as_str()), (Class::Overloaded, "overloaded_error"));
}

#[tokio::test(start_paused = true)]
async fn a_stream_without_one_passes_with_its_first_event() {
    let families = families(presets::anthropic().event_streams());
    let (status, after, whole) = ask(&families, STARTED).await;
    assert_eq!((status, after), (StatusCode::OK, Duration::ZERO));
    assert_eq!(whole, format!("{STARTED}{MORE}"));
    assert!(families.health().families[0].last_signal.is_none());
}

#[tokio::test(start_paused = true)]
async fn who_does_not_ask_is_not_looked_at() {
    let families = families(presets::anthropic().dialect());
    let (_, after, _) = ask(&families, OVERLOADED).await;
    assert_eq!(after, Duration::ZERO);
    assert!(families.health().families[0].last_signal.is_none());
}
