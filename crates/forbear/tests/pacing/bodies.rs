//! An attempt is in flight until the body of its response ends.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use forbear::Pacing;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt, Full};
use tokio::time::Instant;
use tower::{Service, ServiceExt, service_fn};

use crate::common::{SECOND, Sent, get};
use crate::{URL, families, gated, paced};

/// Two frames and an end, or an error in the place of the second.
#[derive(Debug)]
struct Two {
    left: usize,
    fails: bool,
}

impl Body for Two {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
        let Some(left) = self.left.checked_sub(1) else { return Poll::Ready(None) };
        self.left = left;
        Poll::Ready(Some(if self.fails && left == 0 {
            Err(std::io::Error::other("reset"))
        } else {
            Ok(Frame::data(Bytes::from_static(b"frame")))
        }))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(u64::try_from(5 * self.left).unwrap())
    }
}

fn two(
    fails: bool,
) -> impl Service<Request<Sent>, Response = Response<Two>, Error = Infallible, Future: Send> + Clone {
    service_fn(move |_: Request<Sent>| async move { Ok(Response::new(Two { left: 2, fails })) })
}

#[tokio::test(start_paused = true)]
async fn a_permit_lives_until_the_body_ends_fails_or_drops() {
    for fails in [false, true] {
        let families = families(Pacing::new().in_flight(1));
        let service = gated(&families, two(fails));
        let mut body = service.clone().oneshot(get(URL)).await.unwrap().into_body();
        assert_eq!(body.size_hint().exact(), Some(10));
        let waits = tokio::spawn(service.clone().oneshot(get(URL)));
        assert!(body.frame().await.unwrap().is_ok());
        tokio::task::yield_now().await;
        assert_eq!((paced(&families).in_flight, paced(&families).queued), (Some(1), 1));
        assert_eq!(body.frame().await.unwrap().is_err(), fails);
        if !fails {
            assert_eq!(paced(&families).in_flight, Some(1));
            assert!(body.frame().await.is_none());
        }
        // The body itself is still held.
        let next = waits.await.unwrap().unwrap();
        assert_eq!(paced(&families).in_flight, Some(1));
        drop(next);
        assert_eq!(paced(&families).in_flight, Some(0));
        drop(body);
        assert_eq!(paced(&families).in_flight, Some(0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_knows_its_end_is_not_read_to_the_end_of_the_end() {
    let families = families(Pacing::new().in_flight(1));
    for sent in [Full::default(), Full::new(Bytes::from_static(b"whole"))] {
        let has_frames = !sent.is_end_stream();
        let inner = service_fn(move |_: Request<Sent>| {
            let response = Response::new(sent.clone());
            async move { Ok::<_, Infallible>(response) }
        });
        let mut answer = gated(&families, inner).oneshot(get(URL)).await.unwrap();
        assert_eq!(paced(&families).in_flight, Some(u32::from(has_frames)));
        if has_frames {
            assert_eq!(answer.body_mut().frame().await.unwrap().unwrap().into_data().unwrap(), "whole");
        }
        assert!(answer.body().is_end_stream());
        assert_eq!(paced(&families).in_flight, Some(0));
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_than_allowed_are_in_flight() {
    let families = families(Pacing::new().in_flight(3));
    let service = gated(&families, two(false));
    let start = Instant::now();
    let sends = (0..10).map(|_| async {
        let answer = service.clone().oneshot(get(URL)).await.unwrap();
        assert!(paced(&families).in_flight.unwrap() <= 3);
        tokio::time::sleep(SECOND).await;
        answer.into_body().collect().await.unwrap().to_bytes().len()
    });
    let read = crate::crowd::all(sends).await;
    assert_eq!((read, start.elapsed()), (vec![10; 10], 4 * SECOND));
    assert_eq!(paced(&families).in_flight, Some(0));
}
