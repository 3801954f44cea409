//! The client at the bottom of every row, and one call of whatever stands above it.

use std::convert::Infallible;
use std::fmt::Debug;
use std::future::{Future, Ready, ready};
use std::hint::black_box;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use forbear_benches::Call;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response, Uri};
use http_body_util::Empty;
use tower::Service;

pub(crate) type Body = Empty<Bytes>;

/// A client that does nothing: it answers at once, or is pending once, as real I/O is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Client {
    pub(crate) pending: bool,
    /// Whether its answers name the bucket that they were counted in.
    pub(crate) bucket: bool,
}

/// The future of [`Client`].
#[derive(Debug)]
pub(crate) struct Attempt {
    pending: bool,
    answer: Ready<Result<Response<Body>, Infallible>>,
}

/// What is sent.
#[derive(Debug, Clone)]
pub(crate) struct Load {
    /// Asked for in turn.
    uris: Vec<Uri>,
    headers: HeaderMap,
    bucket: bool,
}

impl Load {
    /// One URL, or one at each of so many hosts.
    pub(crate) fn to(hosts: usize) -> Self {
        let uri = |host| format!("https://{}/v8/chart?x=1", host_name(host)).parse().unwrap();
        Self { uris: (0..hosts).map(uri).collect(), headers: HeaderMap::new(), bucket: false }
    }

    /// Answered with the name of a bucket.
    pub(crate) fn counted_in_a_bucket(mut self) -> Self {
        self.bucket = true;
        self
    }

    /// Who answers.
    pub(crate) fn client(&self, pending: bool) -> Client {
        Client { pending, bucket: self.bucket }
    }

    /// With eight headers, their values shared as those of a parsed message are.
    pub(crate) fn eight_headers(mut self) -> Self {
        for name in ["accept", "accept-encoding", "authorization", "user-agent", "x-a", "x-b", "x-c", "x-d"] {
            self.headers.insert(HeaderName::from_static(name), HeaderValue::from_static("value"));
        }
        self
    }

    /// So many calls until every URL was asked for.
    pub(crate) fn round(&self) -> usize {
        self.uris.len()
    }

    /// One call of `service` after another, from building its request to dropping its answer: made ready, called, polled by hand until its answer is there. No runtime's
    /// wake path is in it.
    pub(crate) fn call<S, RB>(&self, mut service: S) -> Call
    where
        S: Service<Request<Body>, Response = Response<RB>> + 'static,
        S::Error: Debug,
    {
        let Self { uris, headers, .. } = self.clone();
        let mut next = 0;
        Box::new(move || {
            let mut request = Request::new(Body::new());
            *request.uri_mut() = uris[next].clone();
            next = if next + 1 == uris.len() { 0 } else { next + 1 };
            if !headers.is_empty() {
                for (name, value) in &headers {
                    request.headers_mut().insert(name, value.clone());
                }
            }
            let mut cx = Context::from_waker(Waker::noop());
            assert!(service.poll_ready(&mut cx).is_ready());
            let mut call = pin!(service.call(black_box(request)));
            let answer = loop {
                if let Poll::Ready(answer) = call.as_mut().poll(&mut cx) {
                    break answer;
                }
            };
            drop(black_box(answer.unwrap()));
        })
    }
}

/// The name of a host that answers.
pub(crate) fn host_name(host: usize) -> String {
    format!("api-{host}.vendor.test")
}

impl<B> Service<Request<B>> for Client {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Attempt;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Attempt {
        drop(black_box(request));
        let mut answer = Response::new(Body::new());
        if self.bucket {
            let name = HeaderValue::from_static("80c17d2f203122d936070c88c8d10f33");
            answer.headers_mut().insert(HeaderName::from_static("x-ratelimit-bucket"), name);
        }
        Attempt { pending: self.pending, answer: ready(Ok(answer)) }
    }
}

impl Future for Attempt {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if std::mem::take(black_box(&mut self.pending)) {
            return Poll::Pending;
        }
        Pin::new(&mut self.answer).poll(cx)
    }
}
