//! What a family's name, hosts and paths must be.

use http::HeaderName;

use crate::host::split_port;
use crate::signal::is_shown;

/// The longest name that a host can have (RFC 1035 section 2.3.4).
const LONGEST_NAME: usize = 255;

/// What metrics call all automatic families together.
pub const AUTOMATIC: &str = "automatic";

pub(super) fn name(name: &str) -> Result<(), String> {
    if name.trim().is_empty() {
        return Err("has no name; give it one, such as the vendor's".into());
    }
    if name == AUTOMATIC {
        return Err("has the name that metrics give to all hosts without one; choose another".into());
    }
    if name.len() > 64 || !name.chars().all(is_shown) || name.trim() != name {
        return Err("has a name that is too long, or holds what cannot be seen; use at most 64 bytes, without control \
                    characters and outer white space"
            .into());
    }
    Ok(())
}

/// A host as the table keys it: lower case, without a trailing dot.
pub(super) fn host(host: &str) -> Result<String, String> {
    host_of("host", host, host)
}

/// `host`, which is what counts of `given`, the value of `key`.
fn host_of(key: &str, given: &str, host: &str) -> Result<String, String> {
    let why = |what: &str| {
        Err(format!("{key} {given:?} {what}; write it like api.example.com or api.example.com:8443"))
    };
    if host.contains("://") {
        return why("has a scheme");
    }
    if host.contains('@') {
        return why("has userinfo");
    }
    if host.contains(['/', '?', '#']) {
        return why("has a path; use Family::route for that");
    }
    if host.contains('*') {
        return why("has a wildcard; use Family::host_suffix for all hosts under a domain");
    }
    if host.parse::<http::uri::Authority>().is_err() {
        return why("is not a host");
    }
    let (name, port) = split_port(host);
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    if name.trim().is_empty() {
        return why("is empty");
    }
    // No request can have such a host, so it would match none.
    if name.len() > LONGEST_NAME {
        return why("is longer than a host can be");
    }
    if !name.starts_with('[') && name.split('.').any(str::is_empty) {
        return why("has nothing between two dots");
    }
    match port.map(str::parse::<u16>) {
        Some(Err(_)) => why("has a port that is no number"),
        // Requests are compared without it, so it would match none.
        Some(Ok(80 | 443)) => why("has a default port; leave it out"),
        Some(Ok(port)) => Ok(format!("{name}:{port}")),
        None => Ok(name),
    }
}

/// A suffix as the table keys it; the dot before it is implied.
pub(super) fn suffix(suffix: &str) -> Result<String, String> {
    let bare = suffix.strip_prefix("*.").or(suffix.strip_prefix('.')).unwrap_or(suffix);
    let bare = host_of("host suffix", suffix, bare)?;
    let (name, _) = split_port(&bare);
    if name.starts_with('[') || name.parse::<std::net::Ipv4Addr>().is_ok() {
        return Err(format!("host suffix {suffix:?} is an address; use Family::host"));
    }
    Ok(bare)
}

pub(super) fn header(name: &str) -> Result<HeaderName, String> {
    name.parse()
        .map_err(|_| format!("partition header {name:?} is not a header name; write it like authorization"))
}

pub(super) fn path(path: &str) -> Result<(), String> {
    let why = |what: &str| Err(format!("route path {path:?} {what}"));
    if !path.starts_with('/') {
        return why("must begin with '/'");
    }
    // Compared with a request's path alone, so it would match none.
    if path.contains(|c: char| matches!(c, '?' | '#') || c.is_whitespace() || c.is_control()) {
        return Err(format!(
            "route path {path:?} is more than a path: a query, a fragment or white space is in none; leave it out"
        ));
    }
    // Both are allowed in a path, but nobody who writes them means an asterisk or a colon.
    if path.split('/').any(|segment| segment == "*") {
        return why("has a wildcard; write it like /v1/{*rest}");
    }
    if path.split('/').any(|segment| segment.starts_with(':')) {
        return why("has a parameter; write it like /v1/{id}");
    }
    Ok(())
}
