//! Fields of stored responses: what is kept, served, merged and told.

use std::time::{Duration, SystemTime};

use http::header::{
    AGE, CACHE_CONTROL, CONNECTION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, DATE, EXPIRES,
    HeaderName, LAST_MODIFIED, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER, TRANSFER_ENCODING,
    UPGRADE,
};
use http::{HeaderMap, HeaderValue, StatusCode};

use super::directives::{has, members};
use forbear_core::stale::Because;

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
const PROXY_CONNECTION: HeaderName = HeaderName::from_static("proxy-connection");
pub(super) const CACHE_STATUS: HeaderName = HeaderName::from_static("cache-status");

/// The most that `Age` says, RFC 9111 section 1.2.2.
const MOST_AGE: u64 = 1 << 31;

/// Fields of one connection, RFC 9110 section 7.6.1, and those that its `Connection` field names: not stored.
pub(super) fn without_hops(headers: &HeaderMap) -> HeaderMap {
    let mut kept = headers.clone();
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    for name in named.flat_map(|value| value.split(',')) {
        kept.remove(name.trim());
    }
    for name in [
        CONNECTION,
        KEEP_ALIVE,
        PROXY_CONNECTION,
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
    ] {
        kept.remove(name);
    }
    kept
}

/// `Age` as a number that can be counted with: of a list the first (RFC 9111 section 5.1); one that is none is left out, one that is
/// too large is the most there is.
pub(super) fn tame_age(headers: &mut HeaderMap) {
    let Some(age) = headers.get(AGE) else { return };
    let first = age.to_str().ok().and_then(|age| age.split(',').next()).map(str::trim);
    match first.filter(|age| !age.is_empty() && age.bytes().all(|byte| byte.is_ascii_digit())) {
        Some(digits) => {
            let age = digits.parse().unwrap_or(MOST_AGE).min(MOST_AGE);
            headers.insert(AGE, HeaderValue::from(age));
        }
        None => {
            headers.remove(AGE);
        }
    }
}

/// The fields of a response in the one form that the library reads: directives in lower case, dates as RFC 9110 section 5.6.7 prefers
/// them.
pub(super) fn judged(headers: &HeaderMap) -> HeaderMap {
    let mut judged = headers.clone();
    for name in [DATE, EXPIRES, LAST_MODIFIED] {
        let Some(value) = headers.get(&name) else { continue };
        match date(value) {
            Some(date) => {
                if let Ok(date) = HeaderValue::from_str(&httpdate::fmt_http_date(date)) {
                    judged.insert(name, date);
                }
            }
            // The library reads more than there is to a date.
            None if name == EXPIRES && value.as_bytes().windows(2).any(|two| two == b"  ") => {
                judged.insert(name, HeaderValue::from_static("0"));
            }
            None => {}
        }
    }
    judged.remove(CACHE_CONTROL);
    // Who knows the status may store it (RFC 9111 section 5.2.2.3): the library stores no other.
    let understands = has(headers, "must-understand");
    for value in headers.get_all(CACHE_CONTROL) {
        let lower: Vec<_> = members(&String::from_utf8_lossy(value.as_bytes()))
            .map(|member| match member.split_once('=') {
                Some((name, value)) => format!("{}={value}", name.trim().to_ascii_lowercase()),
                None => member.trim().to_ascii_lowercase(),
            })
            .filter(|member| member.is_ascii() && !(understands && member == "no-store"))
            .collect();
        if let Ok(value) = HeaderValue::from_str(&lower.join(", ")) {
            judged.append(CACHE_CONTROL, value);
        }
    }
    judged
}

/// Whether a body of this length is all of it by what its head says, RFC 9111 section 3.3.
pub(super) fn is_so_long(said: Option<&HeaderValue>, length: usize) -> bool {
    let said = said.and_then(|said| said.to_str().ok()?.parse().ok());
    said.is_none_or(|said: usize| said == length)
}

/// A date in any of the three forms of RFC 9110 section 5.6.7.
pub(super) fn date(value: &HeaderValue) -> Option<SystemTime> {
    httpdate::parse_http_date(value.to_str().ok()?).ok()
}

/// Takes over what a `304` says anew, RFC 9111 section 3.2; what is about the body stays.
pub(super) fn refresh(stored: &mut HeaderMap, said: &HeaderMap) {
    let kept = [CONTENT_LENGTH, CONTENT_ENCODING, CONTENT_RANGE];
    let said = without_hops(said);
    for name in said.keys().filter(|name| !kept.contains(name)) {
        stored.remove(name);
        for value in said.get_all(name) {
            // One that has no room leaves more than may be stored.
            let _ = stored.try_append(name.clone(), value.clone());
        }
    }
}

/// What became of a request here, in the words of RFC 9211.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// Served from what is stored, and fresh.
    Hit { ttl: Duration },
    /// Served from what is stored, although it is stale by so much.
    Stale { by: Duration, because: Because },
    /// Forwarded, since nothing was stored for it.
    Missed { stored: bool },
    /// Somebody else had it forwarded, and it is not stored.
    Collapsed,
    /// Forwarded, since what was stored is stale.
    Revalidated { status: StatusCode, stored: bool },
    /// Forwarded, since such requests are not looked up.
    Bypassed { method: bool },
    /// Served without an answer.
    Fallback { because: Because },
}

/// Says so in `Cache-Status`, after what caches nearer to the origin said.
///
/// An answer that has as many fields as there can be goes on without.
pub(super) fn tell(headers: &mut HeaderMap, told: Told) {
    let _ = headers.try_append(CACHE_STATUS, told.value());
}

impl Told {
    /// Forwarded, since nothing was stored for it, or since that is stale.
    pub(super) fn forwarded(had: bool, status: StatusCode, stored: bool) -> Self {
        if had { Self::Revalidated { status, stored } } else { Self::Missed { stored } }
    }

    /// The member of `Cache-Status` that says so.
    pub(super) fn value(self) -> HeaderValue {
        let mut line = Line::new();
        line.text("forbear");
        match self {
            Self::Hit { ttl } => line.text("; hit; ttl=").number(ttl.as_secs()),
            Self::Stale { by, because } => {
                // Zero has no sign.
                let line = line.text(if by.as_secs() > 0 { "; hit; ttl=-" } else { "; hit; ttl=" });
                line.number(by.as_secs()).text("; detail=").text(because.as_str())
            }
            Self::Missed { stored } => line.text("; fwd=uri-miss").text(if stored { "; stored" } else { "" }),
            Self::Collapsed => line.text("; fwd=uri-miss; collapsed"),
            Self::Revalidated { status, stored } => {
                let line = line.text("; fwd=stale; fwd-status=").number(status.as_u16().into());
                line.text(if stored { "; stored" } else { "" })
            }
            Self::Bypassed { method: true } => line.text("; fwd=method"),
            Self::Bypassed { method: false } => line.text("; fwd=bypass"),
            Self::Fallback { because } => {
                line.text("; detail=\"fallback, ").text(because.as_str()).text("\"")
            }
        };
        line.value()
    }
}

/// A number as the value of a field.
pub(super) fn number(number: u64) -> HeaderValue {
    Line::new().number(number).value()
}

/// A short line that needs no memory of its own: it is made for every answer.
struct Line {
    bytes: [u8; 96],
    length: usize,
}

impl Line {
    fn new() -> Self {
        Self { bytes: [0; 96], length: 0 }
    }

    /// What does not fit is left out: nothing that is told here is so long.
    fn text(&mut self, text: &str) -> &mut Self {
        let end = self.length + text.len();
        if let Some(place) = self.bytes.get_mut(self.length..end) {
            place.copy_from_slice(text.as_bytes());
            self.length = end;
        }
        self
    }

    fn number(&mut self, mut number: u64) -> &mut Self {
        let (mut digits, mut at) = ([0; 20], 20);
        loop {
            at -= 1;
            digits[at] = b'0' + u8::try_from(number % 10).unwrap_or_default();
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.text(std::str::from_utf8(&digits[at..]).unwrap_or_default())
    }

    fn value(&self) -> HeaderValue {
        HeaderValue::from_bytes(&self.bytes[..self.length]).unwrap_or(HeaderValue::from_static("forbear"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_fits_whatever_its_numbers() {
        let most = Duration::from_secs(u64::MAX);
        for (told, text) in [
            (Told::Hit { ttl: Duration::ZERO }, "forbear; hit; ttl=0"),
            (Told::Hit { ttl: most }, "forbear; hit; ttl=18446744073709551615"),
            (
                Told::Stale { by: most, because: Because::BudgetExhausted },
                "forbear; hit; ttl=-18446744073709551615; detail=budget-exhausted",
            ),
            (
                Told::Stale { by: Duration::from_millis(999), because: Because::Cooling },
                "forbear; hit; ttl=0; detail=cooling",
            ),
            (Told::Missed { stored: true }, "forbear; fwd=uri-miss; stored"),
            (Told::Missed { stored: false }, "forbear; fwd=uri-miss"),
            (Told::Collapsed, "forbear; fwd=uri-miss; collapsed"),
            (
                Told::Revalidated { status: StatusCode::NOT_FOUND, stored: true },
                "forbear; fwd=stale; fwd-status=404; stored",
            ),
            (Told::Bypassed { method: true }, "forbear; fwd=method"),
            (Told::Bypassed { method: false }, "forbear; fwd=bypass"),
        ] {
            assert_eq!(told.value(), text);
        }
        for because in Because::ALL {
            let value = Told::Fallback { because }.value();
            assert_eq!(value, format!("forbear; detail=\"fallback, {because}\""));
        }
    }

    #[test]
    fn fields_of_a_connection_are_not_kept_and_lists_are() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Foo"),
            ("x-foo", "1"),
            ("keep-alive", "5"),
            ("te", "trailers"),
            ("set-cookie", "a"),
            ("set-cookie", "b"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        let kept = without_hops(&headers);
        assert_eq!(kept.get_all("set-cookie").iter().count(), 2);
        assert_eq!(kept.len(), 2);
    }

    #[test]
    fn an_absurd_age_can_be_counted_with() {
        for (said, kept) in [
            ("5", Some("5")),
            ("99999999999999999999999", Some("2147483648")),
            ("-1", None),
            ("1.5", None),
            ("", None),
            ("7200, 0", Some("7200")),
            ("old, 7200", None),
        ] {
            let mut headers = HeaderMap::from_iter([(AGE, said.parse().unwrap())]);
            tame_age(&mut headers);
            assert_eq!(headers.get(AGE).map(|age| age.to_str().unwrap()), kept, "{said}");
        }
    }

    #[test]
    fn the_library_reads_one_form_of_everything() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("expires", "Thu,  18 Aug 2050 02:01:18 GMT"),
            ("date", "Thursday, 18-Aug-50 02:01:18 GMT"),
            ("last-modified", "Thu Aug 18 02:01:18 2050"),
            ("cache-control", "Max-Age=60, No-Cache=\"a, No-Store\""),
            ("cache-control", "NO-STORE, Must-Understand"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        let judged = judged(&headers);
        let of = |name: &str| judged[name].to_str().unwrap();
        assert_eq!((of("expires"), of("date")), ("0", "Thu, 18 Aug 2050 02:01:18 GMT"));
        assert_eq!(of("last-modified"), "Thu, 18 Aug 2050 02:01:18 GMT");
        let directives: Vec<_> = judged.get_all("cache-control").iter().collect();
        assert_eq!(directives, ["max-age=60, no-cache=\"a, No-Store\"", "must-understand"]);
    }

    #[test]
    fn a_304_replaces_all_values_of_a_name_but_not_what_the_body_is() {
        let of = |pairs: &[(&'static str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.append(*name, value.parse().unwrap());
            }
            headers
        };
        let mut stored = of(&[("x-a", "1"), ("x-a", "2"), ("x-b", "3"), ("content-length", "9")]);
        refresh(
            &mut stored,
            &of(&[("x-a", "4"), ("x-a", "5"), ("content-length", "0"), ("connection", "close")]),
        );
        let expected = of(&[("x-b", "3"), ("content-length", "9"), ("x-a", "4"), ("x-a", "5")]);
        assert_eq!(stored, expected);
    }
}
