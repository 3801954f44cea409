use forbear_core::deadlines::{Deadlines, UrlKey};
use forbear_core::partition::Partition;
use http::{Extensions, HeaderMap, Response, Uri};

use crate::extensions::{asked, effective_uri};
use crate::host;

/// What a deadline is recorded for, and looked up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) uri: &'a Uri,
    /// The `Host` field, where the URI has no host.
    pub(super) host: Option<&'a str>,
    /// Whose limit it counts against.
    partition: Option<Partition>,
}

impl<'a> Target<'a> {
    /// What a request is sent to.
    #[inline]
    pub(super) fn of(uri: &'a Uri, headers: &'a HeaderMap, extensions: &Extensions) -> Self {
        Self { uri, host: host::of(uri, headers), partition: extensions.get::<Partition>().copied() }
    }

    /// What answered: as the response tells, where it does; else `sent`; else what the gate kept, unless the key of that is
    /// `known` better. `None` where nobody knows.
    pub(super) fn answered<B>(response: &'a Response<B>, sent: Option<Self>, known: bool) -> Option<Self> {
        let asked = asked(response);
        let kept = asked.map(|asked| Self { uri: &asked.uri, host: None, partition: asked.partition });
        // The gate may know a partition that the request does not state.
        let partition = kept.and_then(|kept| kept.partition).or(sent.and_then(|sent| sent.partition));
        let effective = effective_uri(response).map(|uri| Self { uri, host: None, partition });
        effective.or(sent).or(kept.filter(|_| !known)).map(|target| Self { partition, ..target })
    }

    #[inline]
    pub(super) fn key(self, deadlines: &Deadlines) -> UrlKey {
        deadlines.key(self.uri, self.host, self.partition)
    }
}
