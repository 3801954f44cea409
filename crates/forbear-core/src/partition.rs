//! Whose limit a request counts against, where a family's limits are per credential.

use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::num::NonZeroU64;
use std::sync::OnceLock;

use http::Method;
use siphasher::sip::SipHasher13;

use crate::secret;

/// A part of a family with limits of its own, such as one credential. Known by a keyed hash alone: the [key](PartitionKey) is
/// drawn anew for every process, or is that of its store, and what was hashed is in no memory, log, file or health of ours.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Partition(NonZeroU64);

/// What a process hashes partitions with. A store keeps it, so that a part that cools is known again by the next process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct PartitionKey([u8; 16]);

static KEY: OnceLock<PartitionKey> = OnceLock::new();

impl PartitionKey {
    /// The key that a store kept.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// For a store to keep.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// That of this process, drawn by the first who asks.
    #[must_use]
    pub fn of_process() -> Self {
        *KEY.get_or_init(|| Self(secret::drawn()))
    }

    /// Makes this the key of the process. Whether it is: not where it has another already, of another store, or drawn because a
    /// partition was named before.
    #[must_use]
    pub fn adopt(self) -> bool {
        *KEY.get_or_init(|| self) == self
    }

    /// What is no secret is hashed with.
    fn short(self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    }
}

impl fmt::Debug for PartitionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PartitionKey(…)")
    }
}

impl Partition {
    /// The partition of this credential, tenant or whatever a vendor counts by. Hashed at once.
    #[must_use]
    pub fn of(key: impl AsRef<[u8]>) -> Self {
        Self::hash(b'k', key.as_ref())
    }

    /// The partition of one route of a family, by its path.
    pub(crate) fn of_route(path: &str) -> Self {
        Self::hash(b'r', path.as_bytes())
    }

    /// Who names itself so, within one process.
    pub(crate) fn of_caller(key: &[u8]) -> Self {
        Self::hash(b'c', key)
    }

    /// A method and a path as [`Signal`](crate::signal::Signal)s of a bucket are learned by: a segment that is a number or an
    /// identifier is like any other.
    #[must_use]
    pub fn of_template(method: &Method, path: &str) -> Self {
        // On the way of every attempt, and no secret: a quick hash does.
        static QUICK: OnceLock<foldhash::quality::FixedState> = OnceLock::new();
        let seeded = || foldhash::quality::FixedState::with_seed(PartitionKey::of_process().short());
        let mut hasher = QUICK.get_or_init(seeded).build_hasher();
        hasher.write(method.as_str().as_bytes());
        for segment in path.as_bytes().split(|byte| *byte == b'/') {
            hasher.write_u8(b'/');
            hasher.write(if is_identifier(segment) { b"*" } else { segment });
        }
        Self::from_hash(hasher.finish())
    }

    /// The bucket that a vendor calls `name`.
    pub(crate) fn of_bucket(name: &str) -> Self {
        Self::hash(b'b', name.as_bytes())
    }

    /// This part of what another counts by itself.
    #[must_use]
    pub fn within(self, credential: Option<Self>) -> Self {
        let both = |credential: Self| u128::from(self.0.get()) << 64 | u128::from(credential.0.get());
        credential.map_or(self, |credential| Self::hash(b'w', &both(credential).to_le_bytes()))
    }

    /// By an algorithm and in an order that are the same for every process with this key: a store keeps what comes of it.
    fn hash(kind: u8, key: &[u8]) -> Self {
        let mut hasher = SipHasher13::new_with_key(&PartitionKey::of_process().0);
        hasher.write(key);
        hasher.write(&[kind]);
        Self::from_hash(hasher.finish())
    }

    /// The partition that a store [kept](Self::to_stored).
    #[must_use]
    pub fn from_stored(hash: u64) -> Self {
        Self::from_hash(hash)
    }

    /// For a store to keep: of use to a process with the same [key](PartitionKey).
    #[must_use]
    pub const fn to_stored(self) -> u64 {
        self.hashed()
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

/// Eight digits of the keyed hash, such as `3fa90b1c`: the same for one process's life, or that of the store whose key it is.
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
            // Sixteen bytes are long; the digits of a hexadecimal number need not be many.
            ("/a/abcdefghijkl1234", "/a/mnopqrstuvwx5678"),
            ("/a/deadbeefdeadbee1", "/a/cafebabecafebab2"),
            ("/a/deadbeef-cafe-babe-dead-beefdeadbee1", "/a/cafebabe-dead-beef-cafe-babecafebab2"),
        ] {
            assert_eq!(of(one), of(other), "{one}");
        }
        for (one, other) in [
            ("/v1/chat/completions", "/v1/embeddings"),
            ("/v1/things", "/v2/things"),
            ("/channels/123", "/channels/123/messages"),
            ("/a-long-word-without-any-number", "/another-long-word-without-one"),
            ("/a-long-word-with-1-number", "/a-long-word-with-2-numbers"),
            ("/averylongwordwithone1", "/averylongwordwithone2"),
            ("/accededeffacedbadface", "/deadbeefcafebabefeed"),
            ("/a/abcdefghijk1234", "/a/lmnopqrstuv5678"),
            ("/a/", "/a"),
        ] {
            assert_ne!(of(one), of(other), "{one}");
        }
        assert_ne!(of("/a"), Partition::of_template(&Method::POST, "/a"));
    }

    #[test]
    fn templates_are_hashed_with_the_key_of_the_process_too() {
        let short = |byte| PartitionKey::from_bytes([byte; 16]).short();
        assert_ne!(short(1), short(2));
    }

    #[test]
    fn equal_keys_are_one_partition_and_nothing_of_them_is_shown() {
        let one = Partition::of("sk-secret-canary");
        assert_eq!(one, Partition::of(b"sk-secret-canary"));
        assert_ne!(one, Partition::of("sk-secret-canarz"));
        let shown = format!("{one} {one:?}");
        assert!(!shown.contains("secret") && one.to_string().len() == 8, "{shown}");
        assert_eq!(Partition::from_stored(0xfeed_beef_0000_0001).to_string(), "feedbeef");
    }
}
