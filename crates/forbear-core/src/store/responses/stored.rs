use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use super::key::ResponseKey;

/// A response on its way to a store or back.
///
/// Of the request that it answers there are hashes alone, and the names that an operator may purge by: no URL, no field, no credential.
#[derive(Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// What was asked for, as whom.
    pub key: ResponseKey,
    /// A keyed hash of the request fields that its `Vary` names, with their values; zero where it names none.
    pub variant: u128,
    /// The host that gave it, in lower case, without its port.
    pub host: Arc<str>,
    /// The family of that, where it is known.
    pub family: Option<Arc<str>>,
    /// Its status.
    pub status: StatusCode,
    /// Its fields, without those of one connection.
    pub fields: HeaderMap,
    /// The whole body.
    pub body: Bytes,
    /// Since when it was received, or confirmed. What its own `Age` says comes on top.
    pub age: Duration,
}

impl StoredResponse {
    /// What it counts for in a store that is bounded by bytes: body, fields, names, and 256 for what is kept around them.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let fields = self.fields.iter().map(|(name, value)| name.as_str().len().saturating_add(value.len()));
        let names = [self.host.len(), self.family.as_ref().map_or(0, |family| family.len()), self.body.len()];
        let bytes = fields.chain(names).fold(256, usize::saturating_add);
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

/// Neither fields nor body: both may hold what is nobody else's.
impl fmt::Debug for StoredResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredResponse")
            .field("key", &self.key)
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .field("age", &self.age)
            .finish_non_exhaustive()
    }
}

/// What a store has under a key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FoundResponses {
    /// The youngest first.
    pub responses: Vec<StoredResponse>,
    /// How many rows there were that nobody can have written: damaged, or from the future. They are dropped.
    pub dropped: usize,
}

/// What is to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PurgeResponses {
    /// Everything.
    All,
    /// All that a host gave, by its name in lower case without port.
    Host(Arc<str>),
    /// All that a family gave.
    Family(Arc<str>),
}

/// How much a store of responses holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct KeptResponses {
    /// How many.
    pub responses: u64,
    /// Of how many [bytes](StoredResponse::bytes), together.
    pub bytes: u64,
}
