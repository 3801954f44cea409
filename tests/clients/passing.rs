//! What passes through a client and the stack around it as it is: pieces as they come, heads, trailers, extensions.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use forbear::{FamilyName, HealthPhase, NoWait};
use forbear_mock::{MockVendor, reply};
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, StatusCode, Version};
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Limited, StreamBody};
use hyper::body::Incoming;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::adapters::{Adapter, Ended, Sent, family, get, stack, through};
use crate::server::Server;

const SECOND: Duration = Duration::from_secs(1);
const SUM: HeaderName = HeaderName::from_static("x-sum");

through!([
    pieces_pass_as_they_come,
    an_answer_passes_as_the_vendor_sent_it,
    a_request_passes_as_the_caller_made_it,
    extensions_of_a_request_reach_the_layers,
]);

/// A body of one piece, and another once it may come.
fn pieces(may: Arc<Semaphore>) -> impl Body<Data = Bytes, Error = io::Error> + Send + Sync + 'static {
    let second = stream::once(async move {
        let _ = may.acquire().await;
        Ok(Frame::data(Bytes::from("second")))
    });
    StreamBody::new(stream::once(async { Ok(Frame::data(Bytes::from("first"))) }).chain(second))
}

/// Says how much is to come.
struct Announced(Sent, u64);

impl Body for Announced {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let next = ready!(Pin::new(&mut self.0).poll_frame(cx));
        if let Some(Ok(data)) = next.as_ref().map(|next| next.as_ref().map(|next| next.data_ref().unwrap())) {
            self.1 -= u64::try_from(data.len()).unwrap();
        }
        Poll::Ready(next)
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.1)
    }
}

async fn piece<B: Body<Data = Bytes, Error: std::fmt::Debug> + Unpin>(body: &mut B) -> Bytes {
    let next = timeout(20 * SECOND, body.frame()).await.expect("it is held back");
    next.expect("it ends").unwrap().into_data().unwrap()
}

async fn pieces_pass_as_they_come(adapter: Adapter) {
    let (up, down) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let server = Server::start({
        let (up, down) = (up.clone(), down.clone());
        move |request: Request<Incoming>| {
            let (up, down) = (up.clone(), down.clone());
            async move {
                let mut body = request.into_body();
                assert_eq!(piece(&mut body).await, "first");
                up.add_permits(1);
                assert_eq!(piece(&mut body).await, "second");
                Response::new(pieces(down))
            }
        }
    })
    .await;
    let vendor = adapter.around(&stack(&family(&server.authority()), 60 * SECOND));
    for announced in [false, true] {
        let body = pieces(up.clone()).boxed();
        let body = if announced { Announced(body, 11).boxed() } else { body };
        let answer = vendor.send(Request::put(server.url("/file")).body(body).unwrap());
        let mut answer =
            timeout(40 * SECOND, answer).await.expect("the upload is held back").unwrap().into_body();
        assert_eq!(piece(&mut answer).await, "first");
        down.add_permits(1);
        assert_eq!(piece(&mut answer).await, "second");
        up.forget_permits(1);
        down.forget_permits(1);
    }
}

/// Data, and a trailer after it.
fn with_trailer(data: &'static str) -> UnsyncBoxBody<Bytes, io::Error> {
    let trailers = HeaderMap::from_iter([(SUM, HeaderValue::from_static("7"))]);
    let frames = [Frame::data(Bytes::from(data)), Frame::trailers(trailers)];
    StreamBody::new(stream::iter(frames.map(Ok))).boxed_unsync()
}

async fn an_answer_passes_as_the_vendor_sent_it(adapter: Adapter) {
    let server = Server::start(|_| async {
        let mut answer = Response::new(with_trailer("17"));
        *answer.status_mut() = StatusCode::NON_AUTHORITATIVE_INFORMATION;
        let headers = answer.headers_mut();
        headers.append("set-cookie", HeaderValue::from_static("a=1"));
        headers.append("set-cookie", HeaderValue::from_static("b=2"));
        headers.append("x-name", HeaderValue::from_bytes(b"Ren\xe9").unwrap());
        headers.append("trailer", HeaderValue::from_static("x-sum"));
        answer
    })
    .await;
    let vendor = adapter.around(&stack(&family(&server.authority()), 60 * SECOND));
    let mut request = get(server.url("/chart"));
    request.headers_mut().insert("te", HeaderValue::from_static("trailers"));
    let answer = vendor.send(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::NON_AUTHORITATIVE_INFORMATION);
    assert_eq!(answer.version(), if adapter.has_streams() { Version::HTTP_2 } else { Version::HTTP_11 });
    assert!(answer.headers().get_all("set-cookie").iter().eq(["a=1", "b=2"]), "{answer:?}");
    assert_eq!(answer.headers()["x-name"].as_bytes(), b"Ren\xe9");
    let body = Limited::new(answer.into_body(), 100).collect().await.unwrap();
    assert_eq!(body.trailers().and_then(|trailers| trailers.get(SUM)), Some(&HeaderValue::from_static("7")));
    assert_eq!(body.to_bytes(), "17");
}

async fn a_request_passes_as_the_caller_made_it(adapter: Adapter) {
    // Of a request for which the answer is a limit, the second attempt tells as much as the first.
    let mock = MockVendor::start().await.script([reply(429).header("retry-after-ms", "1"), reply(200)]);
    let vendor = adapter.around(&stack(&family(&mock.authority()), 60 * SECOND));
    let mut request =
        Request::builder().method("PURGE").uri(mock.url("/a%2Fb/c?d=%20&d=2")).body(Sent::default());
    let headers = request.as_mut().unwrap().headers_mut();
    headers.append("x-tag", HeaderValue::from_static("a"));
    headers.append("x-tag", HeaderValue::from_static("b"));
    headers.append("x-name", HeaderValue::from_bytes(b"Ren\xe9").unwrap());
    assert_eq!(vendor.status(request.unwrap()).await, StatusCode::OK);
    let attempts = mock.attempts();
    assert_eq!(attempts.len(), 2);
    for attempt in attempts.iter() {
        assert_eq!(
            (attempt.method().as_str(), attempt.path(), attempt.query()),
            ("PURGE", "/a%2Fb/c", Some("d=%20&d=2"))
        );
        assert!(attempt.headers().get_all("x-tag").iter().eq(["a", "b"]), "{attempt:?}");
        assert_eq!(attempt.headers()["x-name"].as_bytes(), b"Ren\xe9");
    }
}

async fn extensions_of_a_request_reach_the_layers(adapter: Adapter) {
    if adapter.is_a_server() {
        // Of its caller's extensions it hears nothing.
        return;
    }
    let mock = MockVendor::start().await.script([reply(429).header("retry-after-ms", "1"), reply(200)]);
    let families = forbear::Families::builder()
        .family(forbear::Family::new("quotes").host("elsewhere.test"))
        .build()
        .unwrap();
    let vendor = adapter.around(&stack(&families, 60 * SECOND));
    let mut request = get(mock.url("/chart"));
    request.extensions_mut().insert(FamilyName::from_static("quotes"));
    request.extensions_mut().insert(NoWait);
    assert_eq!(vendor.status(request).await, StatusCode::TOO_MANY_REQUESTS);
    let health = families.health();
    assert_ne!(health.family("quotes").map(|family| family.phase), Some(HealthPhase::Open), "{health}");
    let mut again = get(mock.url("/chart"));
    again.extensions_mut().insert(FamilyName::from_static("unheard-of"));
    let refused = vendor.send(again).await.unwrap_err();
    assert_eq!(Ended::of(&refused), Ended::Other, "{refused:?}");
    mock.assert_attempts(1);
}
