//! A request on its way to reqwest.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use http::{Request, Uri};
use http_body::{Body, Frame, SizeHint};
use reqwest::Url;

use super::url;
use crate::body::{BoxError, into_bytes, longer};

/// Bodies up to so many bytes are given to reqwest as bytes, where they are at hand: those it can send again by itself,
/// after a redirect that keeps the method, or where a connection was closed before it took the request.
const AT_HAND: u64 = 64 * 1024;

/// The request in reqwest's own type.
///
/// # Errors
/// Where its URL is none for reqwest, such as one without a host. The error does not show it.
pub(super) fn outgoing<B>(request: Request<B>) -> Result<reqwest::Request, reqwest::Error>
where
    B: Body + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    if let Some(url) = url::known(request.uri()) {
        return outgoing_to(url, request);
    }
    let asked = request.uri().clone();
    let request: reqwest::Request = request.map(body).try_into().map_err(reqwest::Error::without_url)?;
    url::note(&asked, request.url());
    Ok(request)
}

/// The same, to a URL that was parsed before: to print and parse it again costs more than all layers.
pub(crate) fn outgoing_to<B>(url: Url, mut request: Request<B>) -> Result<reqwest::Request, reqwest::Error>
where
    B: Body + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    if request.extensions().is_empty() {
        let (head, rest) = request.into_parts();
        let mut request = reqwest::Request::new(head.method, url);
        *request.version_mut() = head.version;
        *request.headers_mut() = head.headers;
        *request.body_mut() = Some(body(rest));
        return Ok(request);
    }
    // Only a conversion takes extensions along. Short, and in the scheme of nobody, so that no host is looked at.
    *request.uri_mut() = Uri::from_static("a://b");
    let mut request: reqwest::Request = request.map(body).try_into().map_err(reqwest::Error::without_url)?;
    *request.url_mut() = url;
    Ok(request)
}

/// A body in reqwest's own type; of one that may come to more than 64 KiB, or keeps one waiting, nothing is read ahead.
fn body<B>(mut body: B) -> reqwest::Body
where
    B: Body + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    if body.is_end_stream() {
        return reqwest::Body::default();
    }
    if body.size_hint().upper().is_none_or(|upper| upper > AT_HAND) {
        return wrap(body);
    }
    let mut front = VecDeque::new();
    let mut whole = true;
    loop {
        match Pin::new(&mut body).poll_frame(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Some(next)) => {
                let next = next.map(into_bytes).map_err(Into::into);
                whole &= next.as_ref().is_ok_and(Frame::is_data);
                let failed = next.is_err();
                front.push_back(next);
                if failed {
                    break;
                }
            }
            Poll::Ready(None) if whole => return joined(front).into(),
            Poll::Ready(None) | Poll::Pending => break,
        }
    }
    wrap(Resumed { front, rest: body })
}

/// A body in reqwest's own type, as a stream.
pub(super) fn wrap<B>(body: B) -> reqwest::Body
where
    B: Body + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    reqwest::Body::wrap(Shareable(Mutex::new(body)))
}

fn joined(frames: VecDeque<Result<Frame<Bytes>, BoxError>>) -> Bytes {
    let mut data = frames.into_iter().filter_map(|frame| frame.ok()?.into_data().ok());
    let first = data.next().unwrap_or_default();
    match data.next() {
        None => first,
        Some(second) => {
            let mut all = BytesMut::from(&first[..]);
            all.extend_from_slice(&second);
            data.for_each(|more| all.extend_from_slice(&more));
            all.freeze()
        }
    }
}

/// A body of which something was read already.
struct Resumed<B> {
    front: VecDeque<Result<Frame<Bytes>, BoxError>>,
    rest: B,
}

impl<B> Body for Resumed<B>
where
    B: Body + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        if let Some(next) = this.front.pop_front() {
            return Poll::Ready(Some(next));
        }
        Pin::new(&mut this.rest)
            .poll_frame(cx)
            .map(|next| next.map(|next| next.map(into_bytes).map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.front.is_empty() && self.rest.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let data = self.front.iter().flatten().filter_map(Frame::data_ref);
        let ahead = data.fold(0_usize, |sum, data| sum.saturating_add(data.len()));
        longer(&self.rest.size_hint(), u64::try_from(ahead).unwrap_or(u64::MAX))
    }
}

/// reqwest wants bodies that may be shared between threads, which many are not; it shares none.
struct Shareable<B>(Mutex<B>);

impl<B> Body for Shareable<B>
where
    B: Body + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let body = self.get_mut().0.get_mut().unwrap_or_else(PoisonError::into_inner);
        Pin::new(body).poll_frame(cx).map(|next| next.map(|next| next.map(into_bytes).map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).size_hint()
    }
}
