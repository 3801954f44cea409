//! Keys of hashes that nobody outside may guess.

use std::hash::{BuildHasher, RandomState};

/// Sixteen bytes, drawn by the system for this call.
pub(crate) fn drawn() -> [u8; 16] {
    let drawn = RandomState::new();
    let [one, other] = [0_u64, 1].map(|half| drawn.hash_one(half));
    (u128::from(one) << 64 | u128::from(other)).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_alike_and_neither_are_their_halves() {
        let (one, other) = (drawn(), drawn());
        assert_ne!(one, other);
        assert_ne!(one[..8], one[8..]);
        assert_ne!(one[..8], other[..8]);
        assert_ne!(one[8..], other[8..]);
    }
}
