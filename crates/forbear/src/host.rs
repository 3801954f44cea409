use http::{HeaderMap, Uri, header};

/// The host that a request without one in its URI goes to. `None` where the URI has one.
#[inline]
pub(crate) fn of<'a>(uri: &Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    if uri.authority().is_some() {
        return None;
    }
    headers.get(header::HOST).and_then(|host| host.to_str().ok())
}
