//! Whose limit a request counts against, where a family's limits are per credential.

use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};
use std::num::NonZeroU64;
use std::sync::OnceLock;

use http::Method;

/// A part of a family with limits of its own, such as one credential. Known by a keyed hash alone: the key is drawn anew for
/// every process, and what was hashed is in no memory, log or health of ours.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Partition(NonZeroU64);

impl Partition {
    /// The partition of this credential, tenant or whatever a vendor counts by. Hashed at once.
    #[must_use]
    pub fn of(key: impl AsRef<[u8]>) -> Self {
        Self::hash(key.as_ref())
    }

    /// The partition of one route of a family, by its path.
    pub(crate) fn of_route(path: &str) -> Self {
        Self::hash(&('r', path))
    }

    /// Who names itself so, within one process.
    pub(crate) fn of_caller(key: &[u8]) -> Self {
        Self::hash(&('c', key))
    }

    /// A method and a path as [`Signal`](crate::signal::Signal)s of a bucket are learned by: a segment that is a number or an
    /// identifier is like any other.
    #[must_use]
    pub fn of_template(method: &Method, path: &str) -> Self {
        // On the way of every attempt, and no secret: a quick hash does.
        static KEY: OnceLock<foldhash::quality::RandomState> = OnceLock::new();
        let mut hasher = KEY.get_or_init(Default::default).build_hasher();
        hasher.write(method.as_str().as_bytes());
        for segment in path.as_bytes().split(|byte| *byte == b'/') {
            hasher.write_u8(b'/');
            hasher.write(if is_identifier(segment) { b"*" } else { segment });
        }
        Self::from_hash(hasher.finish())
    }

    /// The bucket that a vendor calls `name`.
    pub(crate) fn of_bucket(name: &str) -> Self {
        Self::hash(&('b', name))
    }

    /// This part of what another counts by itself.
    #[must_use]
    pub fn within(self, credential: Option<Self>) -> Self {
        credential.map_or(self, |credential| Self::hash(&('w', self.0, credential.0)))
    }

    fn hash(key: &(impl Hash + ?Sized)) -> Self {
        static KEY: OnceLock<RandomState> = OnceLock::new();
        Self::from_hash(KEY.get_or_init(RandomState::new).hash_one(key))
    }

    /// The partition that [`hashed`](Self::hashed) gave this.
    pub(crate) fn from_hash(hash: u64) -> Self {
        Self(NonZeroU64::new(hash).unwrap_or(NonZeroU64::MAX))
    }

    /// The hash, for maps of ours.
    pub(crate) const fn hashed(self) -> u64 {
        self.0.get()
    }
}

/// Digits alone, a UUID, or so long and with so many digits that a person did not write it.
fn is_identifier(segment: &[u8]) -> bool {
    if segment.len() < 16 {
        return !segment.is_empty() && segment.iter().all(u8::is_ascii_digit);
    }
    let digits = segment.iter().filter(|byte| byte.is_ascii_digit()).count();
    let hex = || segment.iter().all(|byte| byte.is_ascii_hexdigit() || *byte == b'-');
    digits >= 4 || digits > 0 && hex()
}

/// Eight digits of the keyed hash, such as `3fa90b1c`: the same for one process's life.
impl fmt::Display for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.hashed() >> 32)
    }
}

impl fmt::Debug for Partition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Partition({self})")
    }
}

impl From<&Self> for Partition {
    fn from(partition: &Self) -> Self {
        *partition
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_knows_no_identifiers() {
        let of = |path: &str| Partition::of_template(&Method::GET, path);
        for (one, other) in [
            ("/channels/123/messages", "/channels/456/messages"),
            ("/a/3fa85f64-5717-4562-b3fc-2c963f66afa6", "/a/00000000-0000-0000-0000-000000000001"),
            ("/a/sk1234567890abcdefgh", "/a/x9y8z7w6v5u4t3s2r1q0"),
        ] {
            assert_eq!(of(one), of(other), "{one}");
        }
        for (one, other) in [
            ("/v1/chat/completions", "/v1/embeddings"),
            ("/v1/things", "/v2/things"),
            ("/channels/123", "/channels/123/messages"),
            ("/a-long-word-without-any-number", "/another-long-word-without-one"),
            ("/a/", "/a"),
        ] {
            assert_ne!(of(one), of(other), "{one}");
        }
        assert_ne!(of("/a"), Partition::of_template(&Method::POST, "/a"));
    }

    #[test]
    fn equal_keys_are_one_partition_and_nothing_of_them_is_shown() {
        let one = Partition::of("sk-secret-canary");
        assert_eq!(one, Partition::of(b"sk-secret-canary"));
        assert_ne!(one, Partition::of("sk-secret-canarz"));
        let shown = format!("{one} {one:?}");
        assert!(!shown.contains("secret") && one.to_string().len() == 8, "{shown}");
    }
}
