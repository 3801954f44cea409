use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use forbear_core::stale::{StaleCounts, Stored};
use forbear_core::store::StoredResponse;
use forbear_core::time::Monotonic;
use http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, HOST, PRAGMA, SET_COOKIE, VARY};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, response};
use http_cache_semantics::{BeforeRequest, CacheOptions, CachePolicy};

use super::directives::{Directives, insists, members};
use super::fields::{Fields, packed, weight};
use super::headers::{Told, is_so_long, judged, tame_age, without_hops};
use super::key::{Key, Keys, host_of};
use super::policy::Caching;
use crate::clock;

/// So much of its age is lost where a store counts in milliseconds.
const LATER: Duration = Duration::from_millis(1);
/// An answer that is selected by more fields answers nobody else in practice.
const MOST_SELECTING: usize = 64;
/// An answer with more fields is passed on and not stored.
const MOST_FIELDS: usize = 4_096;
/// What an entry costs in memory beside its body, its fields and its URL, with its place in the map.
const OVERHEAD: usize = 800;

/// One stored response.
pub(super) struct Entry {
    uri: Uri,
    selected: Selected,
    vary: Box<[HeaderName]>,
    status: StatusCode,
    headers: Fields,
    body: Bytes,
    caching: Caching,
    /// When it was received, or confirmed.
    at: SystemTime,
    /// How long it is fresh from then on.
    lifetime: Duration,
    directives: Directives,
    /// Until when nobody asks for a better one, in nanoseconds; zero where somebody may.
    rests: AtomicU64,
    /// Counts it as stored, once it is.
    stored: OnceLock<Stored>,
}

/// Of the request that it answers: the fields that select it.
enum Selected {
    Fields(HeaderMap),
    /// Their keyed hash alone, where it comes from a store, and the host, which its key has too.
    Hashed(Keys, u128, Arc<str>),
}

/// What may be done with a stored response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Serve it; it is fresh for so much longer.
    Fresh(Duration),
    /// It is past its freshness by so much.
    Stale(Duration),
    /// The same, and the caller takes it like that (`max-stale`).
    Accepted(Duration),
    /// The caller wants it confirmed, and nothing else.
    Confirm,
}

/// What a vendor answered, before it is known whether it is stored.
pub(super) struct Answer<'a> {
    pub(super) asked: &'a Parts,
    pub(super) status: StatusCode,
    pub(super) headers: &'a HeaderMap,
    pub(super) at: SystemTime,
}

impl Entry {
    /// The entry that `answer` makes once its body is there; `None` where it must not be stored, or never could be served.
    pub(super) fn of(answer: &Answer<'_>, caching: Caching) -> Option<Self> {
        let Answer { asked, status, headers, at } = *answer;
        // A fault of the vendor says nothing of the resource.
        if asked.method != Method::GET || status.is_server_error() || status == StatusCode::PARTIAL_CONTENT {
            return None;
        }
        if headers.len() > MOST_FIELDS {
            return None;
        }
        let vary = vary(headers)?;
        let mut headers = without_hops(headers);
        tame_age(&mut headers);
        let directives = Directives::of(&headers, caching.shared);
        // A session of one user, unless its vendor says outright that it is for all.
        if caching.shared && headers.contains_key(SET_COOKIE) && !directives.public {
            return None;
        }
        let decides = parts(&asked.uri, deciding(&asked.headers));
        let policy = rules(&decides, status, &headers, at, caching);
        let lifetime =
            if caching.goes_against(directives) { Duration::ZERO } else { policy.time_to_live(at) };
        policy.is_storable().then(|| Self {
            lifetime,
            uri: own(&asked.uri),
            selected: Selected::Fields(packed(&selecting(&asked.headers, &vary))),
            vary,
            status,
            headers: Fields::of(headers),
            body: Bytes::new(),
            caching,
            at,
            directives,
            rests: AtomicU64::new(0),
            stored: OnceLock::new(),
        })
    }

    /// The same with its body, in memory of its own size: what arrived may be a slice of much more.
    ///
    /// `None` where that is not all of it.
    pub(super) fn with_body(mut self, chunks: &[Bytes]) -> Option<Self> {
        self.body = chunks.concat().into();
        is_so_long(self.headers.get(CONTENT_LENGTH), self.body.len()).then_some(self)
    }

    /// The same with the body of another.
    pub(super) fn with_body_of(self, other: &Self) -> Self {
        Self { body: other.body.clone(), ..self }
    }

    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    pub(super) fn field(&self, name: HeaderName) -> Option<&HeaderValue> {
        self.headers.get(name)
    }

    /// Its fields as they came.
    pub(super) fn plain_fields(&self) -> HeaderMap {
        self.headers.plain()
    }

    /// Its answer with other fields.
    pub(super) fn whole(&self, headers: HeaderMap) -> (response::Parts, Bytes) {
        (response(self.status, headers), self.body.clone())
    }

    /// This entry on its way to a store, and when it was received.
    pub(super) fn to_store(
        &self,
        key: Key,
        keys: &Keys,
        family: Option<&Arc<str>>,
    ) -> (StoredResponse, SystemTime) {
        let variant = match &self.selected {
            Selected::Fields(fields) => keys.variant(&self.vary, fields),
            Selected::Hashed(_, hash, _) => *hash,
        };
        let response = StoredResponse {
            key,
            variant,
            host: self.host(),
            family: family.cloned(),
            status: self.status,
            fields: self.headers.plain(),
            body: self.body.clone(),
            age: Duration::ZERO,
        };
        (response, self.at)
    }

    /// What a store had for a request, by the clock of now; `None` where it may not be stored (any more).
    pub(super) fn from_store(
        found: StoredResponse,
        asked: &Parts,
        keys: Keys,
        now: SystemTime,
        caching: Caching,
    ) -> Option<Self> {
        let asked = parts(&asked.uri, deciding(&asked.headers));
        let at = now.checked_sub(found.age)?.checked_sub(LATER)?;
        let answer = Answer { asked: &asked, status: found.status, headers: &found.fields, at };
        let made = Self::of(&answer, caching)?;
        let selected = Selected::Hashed(keys, found.variant, found.host);
        Some(Self { selected, body: found.body, ..made })
    }

    /// Whether it answers a request for `uri` with these fields.
    pub(super) fn matches(&self, uri: &Uri, headers: &HeaderMap) -> bool {
        self.uri == *uri
            && match &self.selected {
                Selected::Fields(asked) => {
                    (uri.authority().is_some() || is_same_host(asked, headers))
                        && self.vary.iter().all(|name| asked.get_all(name) == headers.get_all(name))
                }
                Selected::Hashed(keys, hash, _) => keys.variant(&self.vary, headers) == *hash,
            }
    }

    /// The fields that select an answer like this one, as a request has them.
    pub(super) fn variant_of(&self, keys: &Keys, headers: &HeaderMap) -> u128 {
        keys.variant(&self.vary, headers)
    }

    /// Whether the two would answer the same requests.
    pub(super) fn is_same_variant(&self, other: &Self) -> bool {
        self.answers(other) || other.answers(self)
    }

    /// Whether it would answer the request that another one answered.
    fn answers(&self, other: &Self) -> bool {
        match (&self.selected, &other.selected) {
            (_, Selected::Fields(asked)) => self.matches(&other.uri, asked),
            (Selected::Hashed(_, mine, _), Selected::Hashed(_, theirs, _)) => {
                self.vary.is_empty() || (self.vary == other.vary && mine == theirs)
            }
            (Selected::Fields(asked), Selected::Hashed(keys, theirs, _)) => {
                self.vary.is_empty()
                    || (self.vary == other.vary && keys.variant(&self.vary, asked) == *theirs)
            }
        }
    }

    /// What may be done with it for a request that it [matches](Entry::matches).
    pub(super) fn usable(&self, head: &Parts, now: SystemTime) -> Use {
        if head.headers.contains_key(CACHE_CONTROL) || head.headers.contains_key(PRAGMA) {
            let as_get = parts(&self.uri, self.seen(&head.headers));
            // To keep this would take more memory than all else but the body.
            let policy = rules(&as_get, self.status, &self.headers.plain(), self.at, self.caching);
            return match policy.before_request(&as_get, now) {
                BeforeRequest::Fresh(_) => match self.left(now) {
                    Ok(left) => Use::Fresh(left),
                    Err(by) => Use::Accepted(by),
                },
                BeforeRequest::Stale { .. } => match self.left(now) {
                    Ok(_) => Use::Confirm,
                    Err(by) if insists(&head.headers) || by.is_zero() => Use::Confirm,
                    Err(by) => Use::Stale(by),
                },
            };
        }
        match self.left(now) {
            Ok(left) => Use::Fresh(left),
            Err(by) => Use::Stale(by),
        }
    }

    /// The fields of a request that the library decides by.
    fn seen(&self, headers: &HeaderMap) -> HeaderMap {
        let mut seen = deciding(headers);
        for value in headers.get_all(CACHE_CONTROL) {
            // That is about what it brings, not about what is there.
            let kept = |member: &&str| !member.trim().eq_ignore_ascii_case("no-store");
            let said: Vec<_> = members(value.to_str().unwrap_or_default()).filter(kept).collect();
            if let Ok(said) = HeaderValue::from_str(&said.join(",")) {
                seen.append(CACHE_CONTROL, said);
            }
        }
        if let Some(pragma) = headers.get(PRAGMA).filter(|_| !headers.contains_key(CACHE_CONTROL)) {
            seen.insert(PRAGMA, pragma.clone());
        }
        seen
    }

    /// For how long it is fresh; an error where it is not, since when.
    fn left(&self, now: SystemTime) -> Result<Duration, Duration> {
        let passed = now.duration_since(self.at).unwrap_or_default();
        match self.lifetime.checked_sub(passed) {
            Some(left) if !left.is_zero() => Ok(left),
            _ => Err(passed.saturating_sub(self.lifetime)),
        }
    }

    /// Since when it was given or confirmed, counting what other caches say.
    pub(super) fn age(&self, now: SystemTime) -> Duration {
        let passed = now.duration_since(self.at).unwrap_or_default();
        passed.saturating_add(Duration::from_secs(self.headers.age()))
    }

    /// By how much it is past its freshness.
    pub(super) fn stale_by(&self, now: SystemTime) -> Duration {
        self.left(now).err().unwrap_or_default()
    }

    /// An attempt to get a better one failed: until then nobody makes another.
    pub(super) fn rest_until(&self, until: Monotonic) {
        self.rests.store(until.as_nanos(), Ordering::Relaxed);
    }

    /// Whether an attempt failed so lately that nobody makes another.
    pub(super) fn failed_lately(&self) -> bool {
        let until = self.rests.load(Ordering::Relaxed);
        until > 0 && clock::now() < Monotonic::from_nanos(until)
    }

    /// Counts it as stored from now on, until it is gone.
    pub(super) fn count(&self, counts: &Arc<StaleCounts>) {
        self.stored.get_or_init(|| counts.stored(self.weight() as u64));
    }

    /// The same of one that comes back from a store: it is not stored once more.
    pub(super) fn count_again(&self, counts: &Arc<StaleCounts>) {
        self.stored.get_or_init(|| counts.held(self.weight() as u64));
    }

    /// It is in memory no more, though somebody may be reading it.
    pub(super) fn is_gone(&self) {
        if let Some(stored) = self.stored.get() {
            stored.gone();
        }
    }

    /// The host that gave it, in lower case, without its port.
    pub(super) fn host(&self) -> Arc<str> {
        match &self.selected {
            Selected::Fields(fields) => host_of(&self.uri, fields),
            Selected::Hashed(_, _, host) => Arc::clone(host),
        }
    }

    /// Whether its vendor forbids to store it.
    pub(super) fn is_forbidden(&self) -> bool {
        self.directives.no_store
    }

    pub(super) fn directives(&self) -> Directives {
        self.directives
    }

    /// Its head and body, as they are served with what is told of it.
    pub(super) fn serve(&self, now: SystemTime, told: Told) -> (response::Parts, Bytes) {
        let headers = self.headers.served(self.age(now).as_secs(), told.value());
        (response(self.status, headers), self.body.clone())
    }

    /// How many bytes of memory it takes, about.
    pub(super) fn weight(&self) -> usize {
        let selected = match &self.selected {
            Selected::Fields(fields) => weight(fields),
            Selected::Hashed(_, _, host) => host.len(),
        };
        let uri =
            self.uri.authority().map_or(0, |authority| authority.as_str().len()) + self.uri.path().len();
        let uri = uri + self.uri.query().map_or(0, str::len);
        self.body.len() + self.headers.weight() + selected + uri + OVERHEAD
    }
}

impl std::fmt::Debug for Entry {
    // Neither the URL nor what was asked: both may hold a key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// The fields that a response was selected by; `None` where it answers nobody else (`Vary: *`).
fn vary(headers: &HeaderMap) -> Option<Box<[HeaderName]>> {
    let mut names = Vec::new();
    for value in headers.get_all(VARY) {
        for name in value.to_str().ok()?.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            if name == "*" {
                return None;
            }
            names.push(name.parse().ok()?);
            if names.len() > MOST_SELECTING {
                return None;
            }
        }
    }
    names.sort_unstable_by(|one: &HeaderName, other| one.as_str().cmp(other.as_str()));
    names.dedup();
    Some(names.into())
}

/// Whether both name the same host.
fn is_same_host(one: &HeaderMap, other: &HeaderMap) -> bool {
    match (one.get(HOST), other.get(HOST)) {
        (Some(one), Some(other)) => one.as_bytes().eq_ignore_ascii_case(other.as_bytes()),
        (one, other) => one == other,
    }
}

/// Of a request: the fields that select a response.
fn selecting(headers: &HeaderMap, vary: &[HeaderName]) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for name in vary.iter().chain([&HOST]) {
        if !kept.contains_key(name) {
            for value in headers.get_all(name) {
                kept.append(name.clone(), value.clone());
            }
        }
    }
    kept
}

/// Of a request: what the library decides by, and that there are credentials, but not which.
fn deciding(headers: &HeaderMap) -> HeaderMap {
    let mut kept = HeaderMap::new();
    if let Some(host) = headers.get(HOST) {
        kept.insert(HOST, host.clone());
    }
    if headers.contains_key(AUTHORIZATION) {
        kept.insert(AUTHORIZATION, HeaderValue::from_static("-"));
    }
    kept
}

/// By what the library decides about a response to this request.
fn rules(
    asked: &Parts,
    status: StatusCode,
    headers: &HeaderMap,
    at: SystemTime,
    caching: Caching,
) -> CachePolicy {
    let against = caching.goes_against(Directives::of(headers, caching.shared));
    let mut judged = if against { without_directives(headers) } else { judged(headers) };
    // Whether it was selected is found out here.
    judged.remove(VARY);
    let options = CacheOptions { shared: caching.shared, ..CacheOptions::default() };
    CachePolicy::new_options(asked, &response(status, judged), at, options)
}

/// The same URL in memory of its own: one that arrives may be a slice of much more.
fn own(uri: &Uri) -> Uri {
    uri.to_string().parse().unwrap_or_else(|_| uri.clone())
}

/// The same fields where nothing forbids to store them.
fn without_directives(headers: &HeaderMap) -> HeaderMap {
    let mut judged = headers.clone();
    judged.remove(CACHE_CONTROL);
    judged
}

/// A GET.
fn parts(uri: &Uri, headers: HeaderMap) -> Parts {
    let mut parts = http::Request::new(()).into_parts().0;
    parts.uri = uri.clone();
    parts.headers = headers;
    parts
}

fn response(status: StatusCode, headers: HeaderMap) -> response::Parts {
    let mut parts = http::Response::new(()).into_parts().0;
    parts.status = status;
    parts.headers = headers;
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_kept_in_memory_of_its_own() {
        for text in ["http://u:p@A.example:81/a/%20?b=c", "http://a.example", "/a?b", "*"] {
            let wire = Bytes::from(format!("{text} and much more"));
            let came = Uri::from_maybe_shared(wire.slice(..text.len())).unwrap();
            let own = own(&came);
            assert_eq!(own, came);
            drop(came);
            assert!(wire.is_unique(), "{text}");
        }
    }
}
