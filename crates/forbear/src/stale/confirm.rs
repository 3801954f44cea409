//! Who has what is stored already: what a vendor is asked, what its `304` does, and whom a `304` answers.

use bytes::Bytes;
use http::header::{AGE, CONTENT_LENGTH, DATE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED};
use http::{HeaderMap, HeaderValue, StatusCode, response};

use super::entry::{Answer, Entry};
use super::headers::{date, refresh};
use super::policy::Caching;

/// What a `304` says of the entry that it was asked about.
pub(super) enum Confirms {
    /// It holds, and so on.
    Stored(Box<Entry>),
    /// It holds, as this whole answer, and must not be stored any more.
    Unstored(Box<response::Parts>, Bytes),
    /// It is about another response.
    Nothing,
}

impl Entry {
    /// Adds what asks the vendor whether it still holds; false where there is nothing to ask by.
    pub(super) fn ask_to_confirm(&self, headers: &mut HeaderMap) -> bool {
        let pairs = [(ETAG, IF_NONE_MATCH), (LAST_MODIFIED, IF_MODIFIED_SINCE)];
        let mut asks = false;
        for (has, asked) in pairs {
            if let Some(value) = self.field(has) {
                headers.insert(asked, value.clone());
                asks = true;
            }
        }
        asks
    }

    /// Whether a caller that has this entity tag, one of these, or what was so at this time, has it already; RFC 9110 sections 13.1.2
    /// (compared weakly) and 13.1.3.
    pub(super) fn is_known_by(&self, headers: &HeaderMap) -> bool {
        if headers.contains_key(IF_NONE_MATCH) {
            let Some(tag) = self.field(ETAG) else { return false };
            let lists = headers.get_all(IF_NONE_MATCH).iter();
            return lists.flat_map(|list| list.as_bytes().split(|byte| *byte == b',')).any(|known| {
                let known = known.trim_ascii();
                known == b"*" || strip(known) == weakly(tag)
            });
        }
        let Some(since) = headers.get(IF_MODIFIED_SINCE).and_then(date) else { return false };
        let modified = self.field(LAST_MODIFIED).or_else(|| self.field(DATE)).and_then(date);
        modified.is_some_and(|modified| modified <= since)
    }

    /// This entry as a `304` to a request that asked for its confirmation leaves it.
    pub(super) fn confirmed(&self, answer: &Answer<'_>, caching: Caching) -> Confirms {
        let etag = |headers: &HeaderMap| headers.get(ETAG).map(|tag| weakly(tag).to_vec());
        let mut headers = self.plain_fields();
        let known = etag(&headers);
        if etag(answer.headers).is_some_and(|tag| known != Some(tag)) {
            return Confirms::Nothing;
        }
        // It is as old as the confirmation, if that does not say otherwise.
        headers.remove(AGE);
        refresh(&mut headers, answer.headers);
        match Self::of(&Answer { status: self.status(), headers: &headers, ..*answer }, caching) {
            Some(entry) => Confirms::Stored(Box::new(entry.with_body_of(self))),
            None => {
                let (whole, body) = self.whole(headers);
                Confirms::Unstored(Box::new(whole), body)
            }
        }
    }
}

/// A `304` for a caller that has it already, RFC 9110 section 15.4.5.
pub(super) fn not_modified(mut head: response::Parts) -> response::Parts {
    head.status = StatusCode::NOT_MODIFIED;
    head.headers.remove(CONTENT_LENGTH);
    head
}

fn weakly(tag: &HeaderValue) -> &[u8] {
    strip(tag.as_bytes())
}

fn strip(tag: &[u8]) -> &[u8] {
    tag.strip_prefix(b"W/").unwrap_or(tag)
}
