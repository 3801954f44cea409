//! What the store is told of runs that are over.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use forbear_core::store::{Finish, StoreError};
use forbear_core::time::Monotonic;
use forbear_core::work::{Finished, Key, LastError, Outcome, Stamp, Token};

use super::driver::{Driver, Flight};
use super::job::{Deferral, Ran};
use super::plan::jittered;
use super::run::Stop;
use super::shared::{Known, Shared, count};
use crate::clock;

/// The first wait of a key that is deferred for nobody knows how long, and the longest.
const UNKNOWN: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(5 * 60));
/// A vendor's word about one key is taken for so long at most: what it is about may be another by then.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);
/// A family that refused and did not say for how long is left alone for so long.
const REFUSED: Duration = Duration::from_secs(1);
/// And one that said for so long or less, for so long.
const SOON: Duration = Duration::from_millis(10);

impl Driver {
    /// Tells the store of all runs that are over.
    pub(super) async fn settle<F: Future<Output = ()>>(
        &mut self,
        stop: &mut Stop<'_, F>,
    ) -> Result<(), StoreError> {
        let shared = Arc::clone(&self.shared);
        let sources: std::collections::BTreeSet<_> =
            self.ended.iter().map(|(flight, _)| flight.source).collect();
        for source in sources {
            let Some(known) = shared.sources.get(source) else { continue };
            let stamp = clock::stamp();
            let ended = self.ended.iter().filter(|(flight, _)| flight.source == source);
            let runs: Vec<_> = ended.map(|(flight, ran)| finish(known, flight, ran, stamp)).collect();
            let Some(finished) = stop.answered(shared.store.finish(&known.name, &runs, stamp)).await else {
                break;
            };
            let finished = finished?;
            let (over, left) =
                std::mem::take(&mut self.ended).into_iter().partition(|(flight, _)| flight.source == source);
            self.ended = left;
            self.learn(source, &over, &finished);
        }
        Ok(())
    }

    fn learn(&mut self, source: usize, over: &[(Flight, Ran)], finished: &[Finished]) {
        let shared = Arc::clone(&self.shared);
        let Some(known) = shared.sources.get(source) else { return };
        let now = clock::now();
        let mut ends: BTreeMap<&'static str, (u64, &LastError)> = BTreeMap::new();
        for ((flight, ran), finished) in over.iter().zip(finished) {
            shared.live().claims.remove(&(source, flight.key.clone()));
            count(known.totals.of(ran), 1);
            if let Ran::Deferred(Deferral { whole: true, retry_in, .. }) = ran {
                // While it recovers that is the next place, and soon.
                let wait = retry_in.map_or(REFUSED, |wait| wait.max(SOON));
                let until = now.after(wait);
                self.plan.shut(source, jittered(until, now, fastrand::f64()));
            }
            match (finished, ran) {
                (Finished::Waiting(due) | Finished::Again(due), _) => self.plan.is_due(source, *due),
                (Finished::Failed, Ran::Failed(why)) => ends.entry("failed").or_insert((0, why)).0 += 1,
                (Finished::Stalled, Ran::Deferred(deferral)) => {
                    ends.entry("stalled").or_insert((0, &deferral.why)).0 += 1;
                }
                (Finished::Stale, _) => count(&known.totals.stale, 1),
                _ => {}
            }
        }
        for (end, (keys, why)) in ends {
            tracing::warn!(
                source = known.name.as_str(),
                family = &*known.family,
                keys,
                why = why.as_str(),
                "keys {end}; demand them again, or retry them"
            );
        }
    }

    /// Gives back what an earlier run of this process held.
    pub(super) async fn give_back<F: Future<Output = ()>>(
        &mut self,
        stop: &mut Stop<'_, F>,
    ) -> Result<(), StoreError> {
        if let Some(given_back) = stop.answered(give_back_orphans(&self.shared)).await
            && given_back? > 0
        {
            self.plan.ask_all_again();
        }
        Ok(())
    }

    /// Gives back all that is held.
    pub(super) async fn give_back_all(&mut self) {
        let claims = self.shared.live().claims.clone();
        let claims: Vec<_> = claims.into_iter().map(|((source, key), token)| (source, key, token)).collect();
        if release(&self.shared, &claims).await.is_ok() {
            self.shared.live().claims.clear();
        }
    }
}

/// Gives back what a run held that was dropped: how many keys.
pub(super) async fn give_back_orphans(shared: &Shared) -> Result<usize, StoreError> {
    let orphans: Vec<_> = shared.live().orphans.iter().cloned().collect();
    release(shared, &orphans).await?;
    let mut live = shared.live();
    for orphan in &orphans {
        live.orphans.remove(orphan);
    }
    Ok(orphans.len())
}

/// Gives claims back. One that is somebody else's by now is no longer to be given.
pub(super) async fn release(shared: &Shared, claims: &[(usize, Key, Token)]) -> Result<(), StoreError> {
    for (source, known) in shared.sources.iter().enumerate() {
        let ours = claims.iter().filter(|(of, ..)| *of == source);
        let runs: Vec<_> = ours
            .map(|(_, key, token)| Finish { key: key.clone(), token: *token, outcome: Outcome::Released })
            .collect();
        if !runs.is_empty() {
            let released = shared.store.finish(&known.name, &runs, clock::stamp()).await?;
            let released = released.iter().filter(|released| **released != Finished::Stale).count();
            count(&known.totals.released, u64::try_from(released).unwrap_or(u64::MAX));
        }
    }
    Ok(())
}

fn finish(known: &Known, flight: &Flight, ran: &Ran, stamp: Stamp) -> Finish {
    let source = &known.settings;
    let earliest = stamp.after(source.gap);
    let outcome = match ran {
        Ran::Done => {
            let rest = source.every.mul_f64(source.jitter * fastrand::f64()).saturating_add(source.every);
            Outcome::Done { next: stamp.after(rest), earliest }
        }
        Ran::Deferred(deferral) => Outcome::Deferred {
            until: deferred_until(deferral, flight, stamp),
            stall: source.stall,
            error: deferral.why.clone(),
        },
        Ran::Failed(why) => {
            let (first, most) = source.backoff;
            let wait = doubled(first, flight.attempts).min(most);
            let wait = wait.saturating_add(wait.mul_f64(fastrand::f64() / 2.0));
            let retry = stamp.after(wait).max(earliest);
            Outcome::Failed { retry, earliest, max_attempts: source.max_attempts, error: why.clone() }
        }
    };
    Finish { key: flight.key.clone(), token: flight.token, outcome }
}

fn deferred_until(deferral: &Deferral, flight: &Flight, stamp: Stamp) -> Stamp {
    // Its family is skipped until it is open: the key keeps its place.
    if deferral.whole {
        return flight.due;
    }
    let (first, most) = UNKNOWN;
    let told = deferral.retry_in.unwrap_or_default().min(LONGEST);
    let wait = doubled(first, flight.deferrals).min(most).max(told);
    let from = Monotonic::ORIGIN;
    stamp.after(jittered(from.after(wait), from, fastrand::f64()).since(from))
}

fn doubled(first: Duration, times: u32) -> Duration {
    first.saturating_mul(1_u32.checked_shl(times).unwrap_or(u32::MAX))
}
