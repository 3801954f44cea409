//! From a request to its answer, the same on both faces.

use std::io;
use std::pin::pin;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use http::header::HOST;
use http::uri::Authority;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body::Body;
use http_body_util::BodyExt;

use crate::attempt::Received;
use crate::engine::Engine;
use crate::fault::Fault;
use crate::limiter::Slot;
use crate::{MockBody, Reply};

/// A reply that was chosen for an attempt, and what the attempt occupies until it is through.
pub(crate) struct Answer {
    pub(crate) reply: Reply,
    pub(crate) slots: Vec<Slot>,
}

/// Whether an answer ends with its head (RFC 9112, section 6.3).
pub(crate) fn ends_with_head(method: &Method, status: StatusCode) -> bool {
    method == Method::HEAD || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
}

impl Answer {
    pub(crate) fn into_response(self) -> io::Result<Response<MockBody>> {
        let Self { reply, slots } = self;
        if let Some(error) = reply.fault().and_then(Fault::instead_of_head) {
            return Err(error);
        }
        let mut response = Response::new(MockBody::new(&reply, slots));
        *response.status_mut() = reply.status();
        *response.headers_mut() = reply.headers().clone();
        Ok(response)
    }
}

/// Reads the request to its end, logs it, and lets the reply's delay pass.
pub(crate) async fn receive<B: Body>(engine: &Engine, request: Request<B>) -> Answer {
    let (parts, body) = request.into_parts();
    let (body, whole) = read(body).await;
    let received = Received {
        authority: authority(&parts.headers, &parts.uri),
        method: parts.method,
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().map(str::to_owned),
        headers: parts.headers,
        body,
    };
    let answer = if whole { engine.answer(received) } else { engine.reject(received) };
    if !answer.reply.wait().is_zero() {
        tokio::time::sleep(answer.reply.wait()).await;
    }
    answer
}

/// The body, and whether it came to its end.
async fn read<B: Body>(body: B) -> (Bytes, bool) {
    let mut body = pin!(body);
    let mut bytes = BytesMut::new();
    loop {
        match body.as_mut().frame().await {
            None => return (bytes.freeze(), true),
            Some(Err(_)) => return (bytes.freeze(), false),
            Some(Ok(frame)) => {
                if let Ok(mut data) = frame.into_data() {
                    while data.has_remaining() {
                        let chunk = data.chunk();
                        let read = chunk.len();
                        bytes.put_slice(chunk);
                        data.advance(read);
                    }
                }
            }
        }
    }
}

fn authority(headers: &HeaderMap, uri: &Uri) -> Option<String> {
    let host = headers.get(HOST).and_then(|value| value.to_str().ok());
    host.or(uri.authority().map(Authority::as_str)).map(str::to_owned)
}
