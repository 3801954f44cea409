//! The rules once more, as simply as they can be said: a list that is looked through from one end to the other.

use forbear_core::store::{Claims, Finish, Kept};
use forbear_core::work::{
    Claim, DemandReason, Demanded, Extended, Finished, Invalidated, Key, LastError, Outcome, Phase, Retried,
    Row, SourceName, Stamp, Tally, Token, Undemanded,
};
use std::time::Duration;

use super::call::{Answer, Call};

#[derive(Debug, Clone, Default)]
pub(super) struct Reference {
    items: Vec<Item>,
}

#[derive(Debug, Clone)]
struct Item {
    source: SourceName,
    key: Key,
    reasons: Vec<DemandReason>,
    /// Who runs it, and until when.
    claim: Option<(Token, Stamp)>,
    /// `failed` or `stalled`.
    ended: Option<&'static str>,
    due: Stamp,
    earliest: Stamp,
    again: bool,
    attempts: u32,
    deferrals: u32,
    deferred_since: Option<Stamp>,
    done: Option<Stamp>,
    error: Option<LastError>,
}

impl Reference {
    pub(super) fn answer(&mut self, call: &Call, now: Stamp) -> Answer {
        match call {
            Call::Nothing => Answer::Nothing,
            Call::Demand(source, keys, reason) => {
                Answer::Demanded(keys.iter().map(|key| self.demand(source, key, reason, now)).collect())
            }
            Call::Undemand(source, keys, reason) => {
                Answer::Undemanded(keys.iter().map(|key| self.undemand(source, key, reason)).collect())
            }
            Call::Invalidate(source, keys) => {
                Answer::Invalidated(keys.iter().map(|key| self.invalidate(source, key, now)).collect())
            }
            Call::Retry(source, keys) => {
                Answer::Retried(keys.iter().map(|key| self.retry(source, key, now)).collect())
            }
            Call::Claim { source, limit, lease, token, max_attempts } => {
                Answer::Claims(self.claim(source, *limit, now, *lease, *token, *max_attempts))
            }
            Call::Extend(source, claims, until) => Answer::Extended(
                claims.iter().map(|held| self.extend(source, &held.key, held.token, *until)).collect(),
            ),
            Call::Finish(source, runs) => {
                Answer::Finished(runs.iter().map(|run| self.finish(source, run, now)).collect())
            }
            Call::Mend(source, due, lease) => Answer::Mended(self.mend(source, now, *due, *lease)),
        }
    }

    fn at(&self, source: &SourceName, key: &Key) -> Option<usize> {
        self.items.iter().position(|item| item.source == *source && item.key == *key)
    }

    fn demand(&mut self, source: &SourceName, key: &Key, reason: &DemandReason, now: Stamp) -> Demanded {
        let Some(at) = self.at(source, key) else {
            self.items.push(Item {
                source: source.clone(),
                key: key.clone(),
                reasons: vec![reason.clone()],
                claim: None,
                ended: None,
                due: now,
                earliest: Stamp::EPOCH,
                again: false,
                attempts: 0,
                deferrals: 0,
                deferred_since: None,
                done: None,
                error: None,
            });
            return Demanded::New;
        };
        let item = &mut self.items[at];
        item.reasons.retain(|known| known != reason);
        item.reasons.push(reason.clone());
        if item.claim.is_some() {
            item.again = true;
            return Demanded::Again;
        }
        if item.ended.is_some() {
            item.begin_anew(now);
            return Demanded::Revived(item.due);
        }
        Demanded::Waiting(item.due)
    }

    fn undemand(&mut self, source: &SourceName, key: &Key, reason: &DemandReason) -> Undemanded {
        let Some(at) = self.at(source, key) else { return Undemanded::NotDemanded };
        let item = &mut self.items[at];
        if !item.reasons.contains(reason) {
            return Undemanded::NotDemanded;
        }
        item.reasons.retain(|known| known != reason);
        if !item.reasons.is_empty() {
            return Undemanded::StillDemanded;
        }
        if item.claim.is_some() {
            item.again = false;
            return Undemanded::Ending;
        }
        self.items.remove(at);
        Undemanded::Gone
    }

    fn invalidate(&mut self, source: &SourceName, key: &Key, now: Stamp) -> Invalidated {
        let Some(at) = self.at(source, key) else { return Invalidated::NotDemanded };
        let item = &mut self.items[at];
        if item.reasons.is_empty() {
            return Invalidated::NotDemanded;
        }
        if item.claim.is_some() {
            item.again = true;
            return Invalidated::Again;
        }
        if item.ended.is_some() {
            return Invalidated::Held;
        }
        if item.attempts == 0 && item.deferrals == 0 {
            item.due = item.due.min(now.max(item.earliest));
        }
        Invalidated::Due(item.due)
    }

    fn retry(&mut self, source: &SourceName, key: &Key, now: Stamp) -> Retried {
        let Some(at) = self.at(source, key) else { return Retried::NotDemanded };
        let item = &mut self.items[at];
        if item.claim.is_some() {
            return Retried::Running;
        }
        let (waits, due) = (item.ended.is_none(), item.due);
        item.begin_anew(now);
        if waits && due < item.due {
            item.due = due;
        }
        Retried::Due(item.due)
    }

    fn claim(
        &mut self,
        source: &SourceName,
        limit: usize,
        now: Stamp,
        lease: Duration,
        token: Token,
        max_attempts: u32,
    ) -> Claims {
        let mut claims = Claims::default();
        while claims.claimed.len() < limit {
            let ready = self.items.iter().enumerate().filter(|(_, item)| item.source == *source);
            let ready = ready.filter_map(|(at, item)| Some((item.ready()?, item.key.clone(), at)));
            let Some((_, key, at)) = ready.filter(|(ready, ..)| *ready <= now).min() else { break };
            let item = &mut self.items[at];
            if item.claim.take().is_some() {
                if item.reasons.is_empty() {
                    self.items.remove(at);
                    continue;
                }
                item.again = false;
                item.attempts += 1;
                item.error = Some(LastError::new("its last run did not end: the process went, or hung"));
                if item.attempts >= max_attempts {
                    item.ended = Some("failed");
                    claims.failed.push(key);
                    continue;
                }
                claims.reclaimed += 1;
            }
            item.claim = Some((token, now.after(lease)));
            claims.claimed.push(Kept { key, row: item.row() });
        }
        claims
    }

    fn extend(&mut self, source: &SourceName, key: &Key, token: Token, until: Stamp) -> Extended {
        let Some(at) = self.at(source, key) else { return Extended::Stale };
        match &mut self.items[at].claim {
            Some((holder, over)) if *holder == token => {
                *over = until;
                Extended::Extended
            }
            _ => Extended::Stale,
        }
    }

    fn finish(&mut self, source: &SourceName, run: &Finish, now: Stamp) -> Finished {
        let Some(at) = self.at(source, &run.key) else { return Finished::Stale };
        let item = &mut self.items[at];
        if item.claim.is_none_or(|(holder, _)| holder != run.token) {
            return Finished::Stale;
        }
        if item.reasons.is_empty() {
            self.items.remove(at);
            return Finished::Gone;
        }
        item.claim = None;
        let again = item.again;
        item.again = false;
        match run.outcome.clone() {
            Outcome::Done { next, earliest } => {
                item.attempts = 0;
                item.deferrals = 0;
                item.deferred_since = None;
                item.error = None;
                item.done = Some(now);
                item.earliest = earliest;
                item.due = if again { now.max(earliest) } else { next };
                if again { Finished::Again(item.due) } else { Finished::Waiting(item.due) }
            }
            Outcome::Deferred { until, stall, error } => {
                item.deferrals += 1;
                item.error = Some(error);
                item.due = until;
                if item.deferred_since.is_none_or(|since| since > now) {
                    item.deferred_since = Some(now);
                }
                let long = item.deferred_since.is_some_and(|since| now.since(since) >= stall);
                if !long {
                    return Finished::Waiting(until);
                }
                if again {
                    item.deferrals = 1;
                    item.deferred_since = Some(now);
                    return Finished::Again(until);
                }
                item.ended = Some("stalled");
                Finished::Stalled
            }
            Outcome::Failed { retry, earliest, max_attempts, error } => {
                item.attempts += 1;
                item.error = Some(error);
                item.due = retry;
                item.earliest = earliest;
                item.deferred_since = None;
                if item.attempts < max_attempts {
                    return Finished::Waiting(retry);
                }
                if again {
                    item.attempts = 0;
                    return Finished::Again(retry);
                }
                item.ended = Some("failed");
                Finished::Failed
            }
            Outcome::Released => Finished::Waiting(item.due),
        }
    }

    fn mend(&mut self, source: &SourceName, now: Stamp, due: Duration, lease: Duration) -> u64 {
        let mut mended = 0;
        for item in self.items.iter_mut().filter(|item| item.source == *source) {
            let mut wrong = false;
            // One that is neither deferred nor failing rests for half as long at most.
            let rested = now.after(due / 2);
            let furthest = if (item.attempts, item.deferrals) == (0, 0) { rested } else { now.after(due) };
            for (stamp, most) in [(&mut item.due, furthest), (&mut item.earliest, rested)] {
                if *stamp > most {
                    *stamp = most;
                    wrong = true;
                }
            }
            for stamp in [&mut item.deferred_since, &mut item.done].into_iter().flatten() {
                if *stamp > now {
                    *stamp = now;
                    wrong = true;
                }
            }
            if let Some((_, until)) = &mut item.claim
                && *until > now.after(lease)
            {
                *until = now.after(lease);
                wrong = true;
            }
            mended += u64::from(wrong);
        }
        mended
    }

    /// All rows of a source, by key.
    pub(super) fn rows(&self, source: &SourceName) -> Vec<Kept> {
        let of = self.items.iter().filter(|item| item.source == *source);
        let mut rows: Vec<_> = of.map(|item| Kept { key: item.key.clone(), row: item.row() }).collect();
        rows.sort_by(|one, other| one.key.cmp(&other.key));
        rows
    }

    pub(super) fn tally(&self, source: &SourceName, now: Stamp) -> Tally {
        let mut tally = Tally::new();
        for item in self.items.iter().filter(|item| item.source == *source) {
            match (item.claim, item.ended) {
                (Some(_), _) => tally.running += 1,
                (_, Some("failed")) => tally.failed += 1,
                (_, Some(_)) => tally.stalled += 1,
                (None, None) => tally.waiting += 1,
            }
            let Some(ready) = item.ready() else { continue };
            if ready <= now {
                tally.due += 1;
                tally.oldest_due = Some(tally.oldest_due.map_or(ready, |oldest| oldest.min(ready)));
            }
            tally.next = Some(tally.next.map_or(ready, |next| next.min(ready)));
        }
        tally
    }
}

impl Item {
    fn begin_anew(&mut self, now: Stamp) {
        self.ended = None;
        self.attempts = 0;
        self.deferrals = 0;
        self.deferred_since = None;
        self.due = now.max(self.earliest);
    }

    fn ready(&self) -> Option<Stamp> {
        if self.ended.is_some() {
            return None;
        }
        Some(self.claim.map_or(self.due, |(_, until)| until))
    }

    fn row(&self) -> Row {
        let phase = match (self.claim, self.ended) {
            (Some((token, until)), _) => Phase::Running(Claim { token, until }),
            (_, Some("failed")) => Phase::Failed,
            (_, Some(_)) => Phase::Stalled,
            (None, None) => Phase::Waiting,
        };
        Row {
            reasons: self.reasons.iter().cloned().collect(),
            phase,
            due: self.due,
            earliest: self.earliest,
            again: self.again,
            attempts: self.attempts,
            deferrals: self.deferrals,
            deferred_since: self.deferred_since,
            done: self.done,
            error: self.error.clone(),
        }
    }
}
