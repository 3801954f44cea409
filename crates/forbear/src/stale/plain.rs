//! A bad answer that is told to everybody who waited for it. It is not stored.

use bytes::Bytes;
use forbear_core::stale::Served;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::response::Parts;
use http::{HeaderMap, Response, StatusCode};

use super::body::StaleBody;
use super::headers::{Told, tell, without_hops};
use crate::Signal;

/// What the vendor said, for more than one to hold.
#[derive(Debug)]
pub(super) struct Plain {
    status: StatusCode,
    headers: HeaderMap,
    signal: Option<Signal>,
    body: Bytes,
}

impl Plain {
    /// Without its body yet.
    pub(super) fn of(head: &Parts) -> Self {
        Self {
            status: head.status,
            headers: without_hops(&head.headers),
            signal: head.extensions.get().cloned(),
            body: Bytes::new(),
        }
    }

    pub(super) fn with_body(self, chunks: &[Bytes]) -> Self {
        Self { body: chunks.concat().into(), ..self }
    }

    /// Where the body is not told.
    pub(super) fn without_body(&self) -> Self {
        let mut headers = self.headers.clone();
        for name in [CONTENT_LENGTH, CONTENT_ENCODING, CONTENT_TYPE] {
            headers.remove(name);
        }
        Self { status: self.status, headers, signal: self.signal.clone(), body: Bytes::new() }
    }

    /// For one of those who waited.
    pub(super) fn of_one<RB>(&self) -> Response<StaleBody<RB>> {
        let mut response = Response::new(StaleBody::stored(self.body.clone()));
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers.clone();
        if let Some(signal) = &self.signal {
            response.extensions_mut().insert(signal.clone());
        }
        tell(response.headers_mut(), Told::Collapsed);
        response.extensions_mut().insert(Served::Live);
        response
    }
}
