//! Cool-downs that outlive a process.

mod entry;
mod memory;
mod record;
mod struck;

use std::fmt;
use std::sync::Arc;

use crate::work::Stamp;

use super::StoreFuture;

pub use entry::{CooldownEntry, CooldownKey, Part, Pause};
pub use memory::MemoryCooldowns;
pub use record::{Absorbed, CooldownRecord};
pub use struck::{struck_from_json, struck_to_json};

/// What a store held at the start.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// Every family and part of which something is known still.
    pub entries: Vec<CooldownEntry>,
    /// How many rows told what no clock or gate can have meant, and were taken for less, or not at all.
    pub mended: usize,
}

/// Keeps where families stand, for the next process and for others.
///
/// Every method is asked by one background task, and may take its time: no caller waits for it. `now` is the wall clock; a
/// store that is shared between hosts has a clock of its own, and does not look at it.
///
/// What it does with two truths is [`CooldownRecord::absorb`], inside its own transaction. `forbear-mock` has a suite that says
/// whether a store does all that is asked here (its feature `conformance`).
pub trait CooldownStore: fmt::Debug + Send + Sync {
    /// What it is called in health, such as `sqlite`.
    fn name(&self) -> &str;

    /// All that is known still. What says nothing any more ([`CooldownRecord::forget_at`]) is left out, and may be deleted.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn load(&self, now: Stamp) -> StoreFuture<'_, Loaded>;

    /// Keeps these, all or none; they are durable once it answers. The answer has those of which the store knows more: a newer
    /// generation or epoch, or a later deadline.
    ///
    /// # Errors
    /// Where nothing is known to be kept. What was not kept may be given again: twice is as good as once.
    fn save(&self, entries: Vec<CooldownEntry>, now: Stamp) -> StoreFuture<'_, Vec<CooldownEntry>>;

    /// What is known of these; those of which nothing is known are left out.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn look_up(&self, keys: Vec<CooldownKey>, now: Stamp) -> StoreFuture<'_, Vec<CooldownEntry>>;

    /// Something that an operator should know of it for as long as it lives, such as what became of a file that could not be
    /// read. Without secrets.
    fn note(&self) -> Option<String> {
        None
    }
}

impl<S: CooldownStore + ?Sized> CooldownStore for Arc<S> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn load(&self, now: Stamp) -> StoreFuture<'_, Loaded> {
        (**self).load(now)
    }

    fn save(&self, entries: Vec<CooldownEntry>, now: Stamp) -> StoreFuture<'_, Vec<CooldownEntry>> {
        (**self).save(entries, now)
    }

    fn look_up(&self, keys: Vec<CooldownKey>, now: Stamp) -> StoreFuture<'_, Vec<CooldownEntry>> {
        (**self).look_up(keys, now)
    }

    fn note(&self) -> Option<String> {
        (**self).note()
    }
}
