//! Whose limit a request counts against, where a family's limits are per credential.

use std::fmt;
use std::hash::{BuildHasher, Hash, RandomState};
use std::num::NonZeroU64;
use std::sync::OnceLock;

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

    fn hash(key: &(impl Hash + ?Sized)) -> Self {
        static KEY: OnceLock<RandomState> = OnceLock::new();
        let hash = KEY.get_or_init(RandomState::new).hash_one(key);
        Self(NonZeroU64::new(hash).unwrap_or(NonZeroU64::MAX))
    }

    /// The hash, for maps of ours.
    pub(crate) const fn hashed(self) -> u64 {
        self.0.get()
    }
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
    fn equal_keys_are_one_partition_and_nothing_of_them_is_shown() {
        let one = Partition::of("sk-secret-canary");
        assert_eq!(one, Partition::of(b"sk-secret-canary"));
        assert_ne!(one, Partition::of("sk-secret-canarz"));
        let shown = format!("{one} {one:?}");
        assert!(!shown.contains("secret") && one.to_string().len() == 8, "{shown}");
    }
}
