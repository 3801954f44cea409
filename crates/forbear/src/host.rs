use http::{HeaderMap, header};

/// The host that a request without one in its URI goes to.
pub(crate) fn of(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::HOST).and_then(|host| host.to_str().ok())
}
