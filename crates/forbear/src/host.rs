use http::{HeaderMap, header};

/// The host that a request without one in its URI goes to. Userinfo does not belong there, and is not shown.
pub(crate) fn of(headers: &HeaderMap) -> Option<&str> {
    let host = headers.get(header::HOST)?.to_str().ok()?;
    Some(host.rsplit_once('@').map_or(host, |(_, host)| host))
}
