//! The key that a store keeps makes the partitions of the next process those of the last.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use forbear_core::partition::{Partition, PartitionKey};

// One test: a process has one key.
#[test]
fn a_store_knows_its_partitions_again_by_their_key() {
    let bytes = std::array::from_fn(|at| u8::try_from(at).unwrap());
    let kept = PartitionKey::from_bytes(bytes);
    assert_eq!(kept.as_bytes(), &bytes);
    assert!(kept.adopt() && kept.adopt());
    assert!(PartitionKey::of_process() == kept);
    // Not that of another store, which changes nothing.
    assert!(!PartitionKey::from_bytes([7; 16]).adopt());
    assert!(PartitionKey::of_process() == kept);
    // What stands in files that are out there.
    let tenant = Partition::of("tenant-17");
    let within = tenant.within(Some(Partition::of("sk-1")));
    for (partition, stored) in [(tenant, 0xd413_336a_c45e_52ab), (within, 0x5f3a_af80_dde0_4dd9)] {
        assert_eq!(partition.to_stored(), stored);
        assert_eq!(Partition::from_stored(stored), partition);
    }
    assert_eq!(tenant.within(None), tenant);
}
