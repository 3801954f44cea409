//! What every service owes: readiness is the inner one's, a clone is its own, and bodies come through as they are.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use forbear::{Error, InboundBudgetLayer, RefusalResponseLayer};
use futures_util::FutureExt;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Full};
use tower::{Layer, Service, ServiceExt};

use crate::common::{SECOND, Sent, get, poll_once};
use crate::handler;

/// Ready at the second look, and called only when ready.
#[derive(Debug, Default)]
struct Second(u32);

impl Clone for Second {
    fn clone(&self) -> Self {
        Self(0)
    }
}

impl Service<Request<Sent>> for Second {
    type Response = Response<Full<Bytes>>;
    type Error = Error;
    type Future = std::future::Ready<Result<Self::Response, Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.0 += 1;
        match self.0 {
            1 => {
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            2 => Poll::Ready(Ok(())),
            _ => Poll::Ready(Err(Error::from_inner("worn out"))),
        }
    }

    fn call(&mut self, _: Request<Sent>) -> Self::Future {
        assert_eq!(self.0, 2, "called without being ready");
        std::future::ready(Ok(Response::default()))
    }
}

#[tokio::test(start_paused = true)]
async fn readiness_is_the_inner_ones_and_a_clone_has_its_own() {
    let layer = (InboundBudgetLayer::new(SECOND), RefusalResponseLayer::new());
    let mut service = layer.layer(Second::default());
    assert!(service.ready().now_or_never().is_none());
    let mut clone = service.clone();
    assert_eq!(service.ready().await.unwrap().call(get("/")).await.unwrap().status(), 200);
    assert!(clone.ready().now_or_never().is_none(), "a clone is not ready because the other is");
    assert_eq!(clone.ready().await.unwrap().call(get("/")).await.unwrap().status(), 200);
    assert_eq!(service.ready().await.unwrap_err().to_string(), "the client failed, see its source");
}

/// A body in two pieces with a trailer.
#[derive(Debug, Default)]
struct Pieces(u32);

impl Body for Pieces {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        self.0 += 1;
        Poll::Ready(match self.0 {
            1 => Some(Ok(Frame::data(Bytes::from_static(b"one")))),
            2 => Some(Ok(Frame::trailers(http::HeaderMap::new()))),
            _ => Some(Err("cut")),
        })
    }

    fn is_end_stream(&self) -> bool {
        self.0 >= 2
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(3)
    }
}

#[tokio::test(start_paused = true)]
async fn a_handlers_body_comes_through_and_a_problem_knows_its_size() {
    let answering = tower::service_fn(|_: Request<Sent>| async { Ok::<_, Error>(Response::new(Pieces(0))) });
    let answer = RefusalResponseLayer::new().layer(answering).oneshot(get("/")).await.unwrap();
    let mut body = answer.into_body();
    assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(3), false));
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "one");
    assert!(body.frame().await.unwrap().unwrap().is_trailers());
    assert!(body.is_end_stream());
    assert_eq!(body.frame().await.unwrap().unwrap_err(), "cut");

    let failing = handler(|| async { Err(Error::from_inner("reset")) });
    let answer = RefusalResponseLayer::new().layer(failing).oneshot(get("/")).await.unwrap();
    let mut body = answer.into_body();
    let size = body.size_hint().exact();
    let text = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(size, Some(text.len() as u64));
    assert!(!text.is_empty() && body.is_end_stream() && body.frame().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn polled_again_after_its_end_it_stays_pending() {
    let mut service = RefusalResponseLayer::new().layer(handler(|| async { Ok(Response::default()) }));
    let mut future = Box::pin(service.call(get("/")));
    assert!(poll_once(future.as_mut()).is_ready());
    assert!(poll_once(future.as_mut()).is_pending());
}
