use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderValue, Response};

/// What is served where there is neither an answer nor anything stored. It is marked as [`Served::Fallback`](super::Served::Fallback), and never
/// stored.
#[derive(Clone)]
pub struct Fallback(Arc<Make>);

type Make = dyn Fn(&Parts) -> Option<Response<Bytes>> + Send + Sync;

impl Fallback {
    /// This JSON, with status 200.
    #[must_use]
    pub fn json(json: impl Into<Bytes>) -> Self {
        Self::content(HeaderValue::from_static("application/json"), json)
    }

    /// This content, such as that of a file, with status 200.
    ///
    /// ```no_run
    /// use forbear_core::stale::Fallback;
    /// use http::HeaderValue;
    ///
    /// let page = Fallback::content(HeaderValue::from_static("text/html"), std::fs::read("sorry.html")?);
    /// # let _ = page;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn content(content_type: HeaderValue, content: impl Into<Bytes>) -> Self {
        let content = content.into();
        Self::of(move |_| {
            let mut response = Response::new(content.clone());
            response.headers_mut().insert(CONTENT_TYPE, content_type.clone());
            Some(response)
        })
    }

    /// What this makes of a request's head; `None` where there is none for it.
    pub fn of(make: impl Fn(&Parts) -> Option<Response<Bytes>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    pub(super) fn make(&self, head: &Parts) -> Option<Response<Bytes>> {
        (self.0)(head)
    }
}

impl fmt::Debug for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fallback")
    }
}
