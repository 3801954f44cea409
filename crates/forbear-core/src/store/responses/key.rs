use std::fmt;
use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

use crate::secret;

/// Under what a response is kept: what was asked for, as whom. Keyed hashes alone: who does not know the [secret](ResponseSecret) can neither make two
/// requests meet, nor find out what was asked, or by whom.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResponseKey {
    /// Scheme, host, path and query.
    pub what: u128,
    /// Credentials; zero where there were none.
    pub whose: u128,
}

impl ResponseKey {
    /// So many responses are kept under one, chosen among by `Vary`.
    pub const VARIANTS: usize = 16;
}

/// Some digits of it.
impl fmt::Debug for ResponseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResponseKey({:08x} {:08x})", self.what >> 96, self.whose >> 96)
    }
}

/// What the keys of a store are hashed with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ResponseSecret([u8; 16]);

impl ResponseSecret {
    /// A new one.
    #[must_use]
    pub fn random() -> Self {
        Self(secret::drawn())
    }

    /// One that a store kept.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// For a store to keep.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Begins a hash of this `kind`: those of two kinds have nothing to do with each other.
    pub fn hash(&self, kind: u8) -> KeyedHash {
        let mut hasher = SipHasher13::new_with_key(&self.0);
        hasher.write_u8(kind);
        KeyedHash(hasher)
    }
}

/// Never what it is.
impl fmt::Debug for ResponseSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseSecret(…)")
    }
}

/// A keyed hash (SipHash-1-3, 128 bits) that is being made: the same in every process that has the secret.
#[derive(Clone)]
#[must_use = "it is nothing until it is finished"]
pub struct KeyedHash(SipHasher13);

impl KeyedHash {
    /// Takes in a part. Where one ends and the next begins makes a difference.
    pub fn part(&mut self, bytes: &[u8]) -> &mut Self {
        self.0.write(bytes);
        self.0.write(&u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_le_bytes());
        self
    }

    /// The hash; never zero.
    #[must_use]
    pub fn finish(&self) -> u128 {
        self.0.finish128().as_u128().max(1)
    }
}

impl fmt::Debug for KeyedHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyedHash(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(secret: &ResponseSecret, kind: u8, parts: &[&str]) -> u128 {
        let mut hash = secret.hash(kind);
        for part in parts {
            let _ = hash.part(part.as_bytes());
        }
        hash.finish()
    }

    #[test]
    fn secrets_kinds_and_the_ends_of_parts_make_a_difference() {
        let secret = ResponseSecret::from_bytes(*b"0123456789abcdef");
        let other = ResponseSecret::random();
        let all = [
            of(&secret, 0, &["ab", "c"]),
            of(&secret, 0, &["a", "bc"]),
            of(&secret, 0, &["abc"]),
            of(&secret, 0, &["abc", ""]),
            of(&secret, 0, &[]),
            of(&secret, 1, &["abc"]),
            of(&other, 0, &["abc"]),
        ];
        let apart: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(apart.len(), all.len());
        assert_ne!(ResponseSecret::random(), other);
    }

    /// What is in a file was hashed by an earlier version.
    #[test]
    fn the_hash_is_the_same_for_ever() {
        let secret = ResponseSecret::from_bytes(*b"0123456789abcdef");
        assert_eq!(of(&secret, b'u', &["https", "a.example", "/x"]), 158760127129399812409521681144159703871);
    }

    #[test]
    fn nothing_of_a_secret_is_shown() {
        let secret = ResponseSecret::from_bytes([7; 16]);
        assert_eq!(format!("{secret:?} {:?}", secret.hash(0)), "ResponseSecret(…) KeyedHash(…)");
    }
}
