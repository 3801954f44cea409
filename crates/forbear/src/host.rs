use http::{HeaderMap, Uri, header};

/// The host that a request without one in its URI goes to; `None` where the URI has one. Userinfo does not belong there,
/// and is not shown.
#[inline]
pub(crate) fn of<'a>(uri: &Uri, headers: &'a HeaderMap) -> Option<&'a str> {
    if uri.authority().is_some() {
        return None;
    }
    let host = headers.get(header::HOST)?.to_str().ok()?;
    Some(host.rsplit_once('@').map_or(host, |(_, host)| host))
}
