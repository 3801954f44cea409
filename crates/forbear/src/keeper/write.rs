//! What the task does with its store.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use forbear_core::families::{FamiliesId, Restored};
use forbear_core::gate::{Event, Gate};
use forbear_core::store::{CooldownEntry, CooldownKey, Pause, StoreError, StoreFault, StoreFuture};
use forbear_core::work::Stamp;
use tokio::time::timeout;

use crate::{clock, events};

use super::changes::taking_up;
use super::known::Known;
use super::pauses::Pauses;
use super::soon::Soon;
use super::{KEEPING, Shared};

/// A store that takes longer is as one that is gone.
const WITHIN: Duration = Duration::from_secs(10);
/// A look before a probe that takes longer is not waited for.
const LOOK_WITHIN: Duration = Duration::from_millis(50);
/// So many rows are written at once.
const AT_ONCE: usize = 1_000;
/// What a store counts in.
const ROUNDING: Duration = Duration::from_millis(2);

/// What the task remembers.
pub(super) struct Writer {
    families: FamiliesId,
    pauses: Pauses,
    soon: Soon,
    known: Known,
}

impl Writer {
    pub(super) fn new(families: FamiliesId) -> Self {
        Self { families, pauses: Pauses::default(), soon: Soon::default(), known: Known::default() }
    }

    /// When the store is to be asked next about a cool-down that ends.
    pub(super) fn next_look(&self) -> Option<forbear_core::time::Monotonic> {
        self.soon.next()
    }

    /// Takes up what the store holds.
    pub(super) async fn load(&mut self, shared: &Shared) -> Result<(), StoreError> {
        let loaded = self.ask(shared, WITHIN, |stamp| shared.store.load(stamp)).await?;
        let mut taken = 0_usize;
        for entry in &loaded.entries {
            taken = taken.saturating_add(usize::from(self.take_up(shared, entry)));
        }
        let first = shared.progress.borrow().loaded.is_none();
        shared
            .progress
            .send_modify(|progress| progress.loaded = Some(progress.loaded.unwrap_or(0).max(taken)));
        if loaded.mended > 0 {
            tracing::warn!(
                store = shared.store.name(),
                rows = loaded.mended,
                "the store held what no clock can have meant; it was taken for less, or not at all"
            );
        }
        if first {
            let rows = loaded.entries.len();
            tracing::info!(store = shared.store.name(), rows, taken, "stored state is loaded");
        }
        Ok(())
    }

    /// Writes what the store does not know.
    pub(super) async fn save(&mut self, shared: &Shared) -> Result<(), StoreError> {
        let (mut gates, made) = shared.changes().take();
        while !gates.is_empty() {
            let rest = gates.split_off(gates.len().min(AT_ONCE));
            if let Err(error) = self.save_some(shared, &gates).await {
                shared.changes().put_back(gates.into_iter().chain(rest));
                return Err(error);
            }
            gates = rest;
        }
        shared.progress.send_modify(|progress| progress.stored = made);
        Ok(())
    }

    async fn save_some(
        &mut self,
        shared: &Shared,
        gates: &[(CooldownKey, Arc<Gate>)],
    ) -> Result<(), StoreError> {
        let (now, stamp) = (clock::now(), Stamp::of(clock::wall()));
        let entries: Vec<_> = gates
            .iter()
            .map(|(key, gate)| {
                let mut entry = gate.entry(key.clone(), now);
                self.pauses.only_news(&mut entry);
                entry
            })
            .collect();
        let newer = self.ask(shared, WITHIN, |stamp| shared.store.save(entries.clone(), stamp)).await?;
        for entry in &entries {
            self.pauses.told(entry);
        }
        let written = u64::try_from(entries.len()).unwrap_or(u64::MAX);
        shared.progress.send_modify(|progress| progress.written = progress.written.saturating_add(written));
        self.known.tidy(stamp);
        for ((key, gate), entry) in gates.iter().zip(&entries) {
            if let Some(newer) = newer.iter().find(|newer| newer.key == *key) {
                self.merge(shared, gate, newer);
            }
            self.known.add(gate, entry, stamp);
            self.soon.add(key.clone(), Arc::clone(gate), now);
        }
        Ok(())
    }

    /// Asks the store about cool-downs that are about to end, so that a probe is not sent while another process knows better.
    /// Where it does not answer at once, nobody waits.
    pub(super) async fn look(&mut self, shared: &Shared) {
        let due = self.soon.take(clock::now());
        if due.is_empty() {
            return;
        }
        let keys: Vec<_> = due.iter().map(|(key, _)| key.clone()).collect();
        let now = Stamp::of(clock::wall());
        let asked = contained(|| shared.store.look_up(keys, now));
        for entry in timeout(LOOK_WITHIN, asked).await.ok().and_then(Result::ok).unwrap_or_default() {
            let Some((key, gate)) = due.iter().find(|(key, _)| *key == entry.key) else { continue };
            let stands = gate.transition(clock::now());
            let newer =
                (entry.transition.epoch, entry.transition.generation) > (stands.epoch, stands.generation);
            if newer || !self.known.has(&entry, now) {
                self.merge(shared, gate, &entry);
                self.soon.add(key.clone(), Arc::clone(gate), clock::now());
            }
        }
    }

    /// What the store says of a family that may be here.
    fn take_up(&mut self, shared: &Shared, entry: &CooldownEntry) -> bool {
        let Some(families) = self.families.families() else { return false };
        let now = clock::now();
        let stamp = Stamp::of(clock::wall());
        let entry = &self.known.cut(entry.clone(), (now, stamp));
        let restored = taking_up(|| families.restore(entry, now));
        let Restored::Taken { gate, paused, events, .. } = restored else { return false };
        self.known.add(&gate, entry, stamp);
        if matches!(entry.pause, Pause::On { .. }) {
            self.pauses.told(entry);
            if paused {
                tracing::info!(family = &**gate.name(), "family is paused, as it was before this process");
            } else {
                // An operator was quicker, or it is known already.
                let _ = shared.changes().note(&gate);
            }
        }
        emit(&gate, &events);
        self.note_what_it_does_not_know(shared, &gate, entry);
        self.soon.add(entry.key.clone(), gate, now);
        true
    }

    fn merge(&mut self, shared: &Shared, gate: &Arc<Gate>, entry: &CooldownEntry) {
        let (now, stamp) = (clock::now(), Stamp::of(clock::wall()));
        let entry = &self.known.cut(entry.clone(), (now, stamp));
        self.known.add(gate, entry, stamp);
        let (_, events) = taking_up(|| gate.merge(&entry.transition, clock::now()));
        emit(gate, &events);
        self.note_what_it_does_not_know(shared, gate, entry);
    }

    /// A gate that knows a later deadline than the store, or is a newer one, is written again.
    fn note_what_it_does_not_know(&self, shared: &Shared, gate: &Gate, entry: &CooldownEntry) {
        let stands = gate.transition(clock::now());
        let told = &entry.transition;
        let newer = (stands.epoch, stands.generation) > (told.epoch, told.generation);
        if newer || stands.remaining > told.remaining.saturating_add(ROUNDING) {
            let _ = shared.changes().note(gate);
        }
    }

    /// Asks the store, and tells how that went.
    async fn ask<'s, T>(
        &mut self,
        shared: &'s Shared,
        within: Duration,
        ask: impl FnOnce(Stamp) -> StoreFuture<'s, T>,
    ) -> Result<T, StoreError> {
        let answer = contained(|| ask(Stamp::of(clock::wall())));
        let answer = timeout(within, answer)
            .await
            .unwrap_or_else(|_| Err(StoreError::new(StoreFault::TimedOut, KEEPING)));
        let (store, now) = (shared.store.name(), clock::now());
        match &answer {
            Ok(_) => {
                let mut degraded = None;
                shared.progress.send_if_modified(|progress| {
                    degraded = progress.succeeded(now);
                    degraded.is_some()
                });
                if let Some(since) = degraded {
                    let degraded_ms = u64::try_from(now.since(since).as_millis()).unwrap_or(u64::MAX);
                    tracing::info!(store, degraded_ms, "store is well again");
                }
            }
            Err(error) => {
                let mut new = false;
                shared.progress.send_modify(|progress| new = progress.failed(error.clone(), now));
                if new {
                    tracing::warn!(store, cause = error.cause(), "store is degraded; what is known goes on");
                }
                if error.fault() == StoreFault::Lost {
                    self.tell_all_again(shared);
                }
            }
        }
        answer
    }

    /// The store begins anew, and is told all that is known here.
    fn tell_all_again(&mut self, shared: &Shared) {
        self.pauses.forget();
        self.known.forget();
        let Some(families) = self.families.families() else { return };
        let mut changes = shared.changes();
        for member in families.members() {
            let parts = member.gate.partitions();
            for gate in std::iter::once(&member.gate).chain(&parts).filter(|gate| !gate.is_untouched()) {
                let _ = changes.note(gate);
            }
        }
    }
}

fn emit(gate: &Gate, news: &[Event]) {
    if !news.is_empty() {
        events::emit(gate, news);
    }
}

/// A store is somebody else's code: where it panics, it did not answer.
async fn contained<'s, T>(ask: impl FnOnce() -> StoreFuture<'s, T>) -> Result<T, StoreError> {
    let panicked = || Err(StoreError::new(StoreFault::Unavailable, KEEPING).because("the store panicked"));
    let Ok(answer) = catch_unwind(AssertUnwindSafe(ask)) else { return panicked() };
    let mut answer = pin!(answer);
    poll_fn(|cx| {
        catch_unwind(AssertUnwindSafe(|| answer.as_mut().poll(cx)))
            .unwrap_or_else(|_| Poll::Ready(panicked()))
    })
    .await
}
