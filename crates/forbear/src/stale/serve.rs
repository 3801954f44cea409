//! Answers from memory.

use std::time::{Duration, SystemTime};

use forbear_core::stale::{Because, Served, StalePolicy};
use http::Response;
use http::request::Parts;

use super::body::StaleBody;
use super::confirm::not_modified;
use super::entry::Entry;
use super::headers::{Told, tell};
use super::shared::Shared;

/// Fresh for so much longer.
pub(super) fn fresh<RB>(
    now: SystemTime,
    entry: &Entry,
    head: &Parts,
    ttl: Duration,
) -> Response<StaleBody<RB>> {
    answer(now, entry, head, Served::Fresh, Told::Hit { ttl })
}

/// The vendor gave it, or confirmed it, just now.
pub(super) fn confirmed<RB>(shared: &Shared, entry: &Entry, head: &Parts) -> Response<StaleBody<RB>> {
    answer(shared.wall(), entry, head, Served::Live, Told::Hit { ttl: Duration::ZERO })
}

/// Nothing better is to be had.
pub(super) fn stale<RB>(
    now: SystemTime,
    entry: &Entry,
    head: &Parts,
    because: Because,
) -> Response<StaleBody<RB>> {
    let served = Served::Stale { age: entry.age(now), because };
    answer(now, entry, head, served, Told::Stale { by: entry.stale_by(now), because })
}

fn answer<RB>(
    now: SystemTime,
    entry: &Entry,
    head: &Parts,
    served: Served,
    told: Told,
) -> Response<StaleBody<RB>> {
    let (mut parts, body) = entry.serve(now, told);
    parts.extensions.insert(served);
    if entry.is_known_by(&head.headers) {
        return Response::from_parts(not_modified(parts), StaleBody::none());
    }
    let body = if head.method == http::Method::HEAD { StaleBody::none() } else { StaleBody::stored(body) };
    Response::from_parts(parts, body)
}

/// Where there is nothing at all.
pub(super) fn fallback<RB>(
    policy: &StalePolicy,
    head: &Parts,
    because: Because,
) -> Option<Response<StaleBody<RB>>> {
    let is_head = head.method == http::Method::HEAD;
    let made = policy.substitute(head)?;
    let mut response = made.map(|body| if is_head { StaleBody::none() } else { StaleBody::stored(body) });
    tell(response.headers_mut(), Told::Fallback { because });
    response.extensions_mut().insert(Served::Fallback { because });
    Some(response)
}
