//! What a `304` does to what is stored.

use bytes::Bytes;
use http::header::{AGE, ETAG};
use http::{HeaderMap, response};

use super::entry::{Answer, Entry};
use super::headers::refresh;
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
    /// This entry as a `304` to a request that asked for its confirmation leaves it.
    pub(super) fn confirmed(&self, answer: &Answer<'_>, caching: Caching) -> Confirms {
        let etag = |headers: &HeaderMap| headers.get(ETAG).map(|tag| super::entry::weakly(tag).to_vec());
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
