//! One answer of a script.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Serialize;

use crate::fault::{Fault, Pace};

/// An answer with this status and nothing else: no headers, an empty body, no delay.
///
/// On a socket the server adds `Date` and `Content-Length`, as servers do.
///
/// # Panics
///
/// When `status` is not between 200 and 999: an interim (1xx) status cannot end an attempt.
#[track_caller]
#[must_use]
pub fn reply(status: u16) -> Reply {
    let status = StatusCode::from_u16(status).ok().filter(|status| !status.is_informational());
    let status = status.expect("a reply's status must be between 200 and 999");
    Reply {
        status,
        headers: HeaderMap::new(),
        body: Bytes::new(),
        delay: Duration::ZERO,
        times: 1,
        pace: None,
        fault: None,
    }
}

/// What the vendor answers to one attempt; made by [`reply`].
///
/// Every setter that names a header adds a line: a `Retry-After` given twice is sent twice, as some vendors do.
#[derive(Clone, Debug)]
pub struct Reply {
    status: StatusCode,
    headers: HeaderMap,
    body: Bytes,
    delay: Duration,
    times: usize,
    pub(crate) pace: Option<Pace>,
    pub(crate) fault: Option<Fault>,
}

impl Reply {
    /// Adds `Retry-After: secs` (RFC 9110, section 10.2.3: delay-seconds).
    #[must_use]
    pub fn retry_after(mut self, secs: u64) -> Self {
        self.headers.append(RETRY_AFTER, HeaderValue::from(secs));
        self
    }

    /// Adds `Retry-After` for a wait, in whole seconds, rounded up: whoever obeys it is never early.
    #[must_use]
    pub fn retry_after_wait(self, wait: Duration) -> Self {
        self.retry_after(wait.as_secs().saturating_add(u64::from(wait.subsec_nanos() > 0)))
    }

    /// Adds `Retry-After` with any text: `1.5`, `soon`, nothing at all.
    ///
    /// # Panics
    ///
    /// When the text cannot be a header value (control characters).
    #[track_caller]
    #[must_use]
    pub fn retry_after_text(self, text: &str) -> Self {
        self.header(RETRY_AFTER.as_str(), text)
    }

    /// Adds `Retry-After` as an HTTP date (RFC 9110, section 5.6.7), cut to the whole second.
    ///
    /// A client reads it relative to the response's `Date`; in process there is none unless
    /// [`header`](Self::header) adds it.
    ///
    /// # Panics
    ///
    /// When `at` is before 1970 or after the year 9999, which an HTTP date cannot say.
    #[must_use]
    pub fn retry_after_date(self, at: SystemTime) -> Self {
        self.header(RETRY_AFTER.as_str(), httpdate::fmt_http_date(at))
    }

    /// Adds a header line. The value may hold any bytes a header can, UTF-8 or not.
    ///
    /// A `Content-Length` is kept, true or not. Where it promises more than the body has, the connection is closed
    /// after the body, as [`close_in_body`](Self::close_in_body) does; where it promises less, the rest is not sent.
    ///
    /// # Panics
    ///
    /// When the name is no token or the value holds control characters.
    #[track_caller]
    #[must_use]
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let name = HeaderName::from_bytes(name.as_bytes()).expect("a reply's header name must be a token");
        let value = HeaderValue::from_bytes(value.as_ref())
            .expect("a reply's header value must not hold control characters");
        self.headers.append(name, value);
        self
    }

    /// Sets the body. No `Content-Type` is added.
    #[must_use]
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets the body to `value` as JSON, and `Content-Type: application/json` unless one was given before.
    ///
    /// # Panics
    ///
    /// When `value` cannot be written as JSON.
    #[track_caller]
    #[must_use]
    pub fn json(self, value: &(impl Serialize + ?Sized)) -> Self {
        self.json_text(serde_json::to_string(value).expect("a reply's JSON body must serialise"))
    }

    /// Sets the body to `text` as it stands, valid JSON or not, and `Content-Type: application/json` unless one
    /// was given before.
    #[must_use]
    pub fn json_text(mut self, text: impl Into<String>) -> Self {
        self.headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
        self.body(text.into())
    }

    /// Sets the time from the arrival of the attempt to the head of the answer, or to the fault in its place; zero
    /// unless set.
    ///
    /// The attempt is in the log, and the script has moved on, before the delay begins: a client that gives up
    /// during it was served.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Gives this reply to `n` attempts before the script moves on; 1 unless set.
    ///
    /// It changes nothing on the last reply of a list, which repeats anyway, nor on one that a closure returns or a
    /// limiter gives.
    ///
    /// # Panics
    ///
    /// When `n` is 0.
    #[track_caller]
    #[must_use]
    pub fn times(mut self, n: usize) -> Self {
        assert!(n > 0, "a reply given 0 times would never be seen: leave it out of the script");
        self.times = n;
        self
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    pub(crate) fn payload(&self) -> &Bytes {
        &self.body
    }

    /// The length that its own headers give it, if they give one.
    pub(crate) fn claimed_length(&self) -> Option<usize> {
        let mut lines = self.headers.get_all(CONTENT_LENGTH).iter();
        let parsed = |line: &HeaderValue| line.to_str().ok()?.parse().ok();
        let length = parsed(lines.next()?)?;
        lines.all(|line| parsed(line) == Some(length)).then_some(length)
    }

    pub(crate) fn wait(&self) -> Duration {
        self.delay
    }

    pub(crate) fn repeats(&self) -> usize {
        self.times
    }

    pub(crate) fn pace(&self) -> Option<Pace> {
        self.pace
    }

    pub(crate) fn fault(&self) -> Option<Fault> {
        self.fault
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(reply: &Reply, name: &str) -> Vec<String> {
        let lines = reply.headers().get_all(name).iter();
        lines.map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned()).collect()
    }

    #[test]
    fn every_spelling_of_retry_after_is_a_line_of_its_own() {
        let date = SystemTime::UNIX_EPOCH + Duration::from_millis(784_111_777_900);
        let reply = reply(429).retry_after_text("1.5").retry_after(5).retry_after_date(date);
        assert_eq!(lines(&reply, "retry-after"), ["1.5", "5", "Sun, 06 Nov 1994 08:49:37 GMT"]);
    }

    #[test]
    fn a_wait_is_rounded_up_to_the_second() {
        let waits = [0, 1, 1_000_000_000, 1_000_000_001].map(Duration::from_nanos);
        let reply = waits.into_iter().fold(reply(429), Reply::retry_after_wait);
        assert_eq!(lines(&reply, "retry-after"), ["0", "1", "1", "2"]);
    }

    #[test]
    fn json_sets_the_content_type_unless_it_is_given() {
        let plain = reply(200).json(&[1, 2]);
        assert_eq!(plain.payload(), "[1,2]");
        assert_eq!(lines(&plain, "content-type"), ["application/json"]);

        let problem = reply(429).header("Content-Type", "application/problem+json").json_text("{");
        assert_eq!(problem.payload(), "{");
        assert_eq!(lines(&problem, "content-type"), ["application/problem+json"]);
    }

    #[test]
    fn header_values_may_be_any_bytes() {
        let reply = reply(200).header("x-raw", [0xff, b'a']);
        assert_eq!(reply.headers()["x-raw"].as_bytes(), [0xff, b'a']);
    }

    #[test]
    #[should_panic(expected = "between 200 and 999")]
    fn an_interim_status_is_refused() {
        let _ = reply(103);
    }

    #[test]
    #[should_panic(expected = "between 200 and 999")]
    fn a_status_of_four_digits_is_refused() {
        let _ = reply(1000);
    }

    #[test]
    #[should_panic(expected = "leave it out of the script")]
    fn zero_times_is_refused() {
        let _ = reply(200).times(0);
    }

    #[test]
    #[should_panic(expected = "must be a token")]
    fn a_header_name_with_a_space_is_refused() {
        let _ = reply(200).header("retry after", "5");
    }

    #[test]
    #[should_panic(expected = "control characters")]
    fn a_header_value_with_a_line_break_is_refused() {
        let _ = reply(200).retry_after_text("5\r\nx: y");
    }
}
