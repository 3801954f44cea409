//! Random histories, compared with the reference after every step.

use std::sync::Arc;
use std::time::Duration;

use forbear_core::store::{Finish, Held, Rows, WorkStore};
use forbear_core::work::{Key, LastError, Outcome, SourceName, Stamp, Token};

use super::call::{Answer, Call};
use super::reference::Reference;
use super::{at, key, reason, source};

/// What may happen next, as small numbers.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Advance(u64),
    /// The wall clock is set back.
    SetBack(u64),
    Demand {
        source: u8,
        keys: Vec<u8>,
        reason: u8,
    },
    Undemand {
        source: u8,
        keys: Vec<u8>,
        reason: u8,
    },
    Invalidate {
        source: u8,
        keys: Vec<u8>,
    },
    Retry {
        source: u8,
        keys: Vec<u8>,
    },
    Claim {
        source: u8,
        limit: usize,
        lease: u64,
        max_attempts: u32,
    },
    /// Of the nth claim, counted from the last.
    Extend {
        claim: usize,
        by: u64,
    },
    Finish {
        claims: Vec<usize>,
        how: u8,
        next: u64,
    },
    Mend {
        source: u8,
        due: u64,
        lease: u64,
    },
}

/// What happened so far, and what a store must have answered last.
#[derive(Debug, Clone)]
pub(super) struct History {
    pub(super) now: Stamp,
    pub(super) call: Call,
    pub(super) answer: Answer,
    reference: Reference,
    tokens: u64,
    /// All claims, those that are over too.
    claims: Vec<(SourceName, Key, Token)>,
}

impl History {
    pub(super) fn new() -> Self {
        Self {
            now: at(0),
            call: Call::Nothing,
            answer: Answer::Nothing,
            reference: Reference::default(),
            tokens: 0,
            claims: Vec::new(),
        }
    }

    pub(super) fn step(&mut self, step: &Step) {
        match step {
            Step::Advance(seconds) => self.now = self.now.after(Duration::from_secs(*seconds)),
            Step::SetBack(seconds) => {
                self.now = Stamp::from_millis(self.now.as_millis().saturating_sub(seconds * 1_000));
            }
            _ => {}
        }
        self.call = self.call(step);
        self.answer = self.reference.answer(&self.call, self.now);
        if let (Call::Claim { source, token, .. }, Answer::Claims(claims)) = (&self.call, &self.answer) {
            let claimed = claims.claimed.iter().map(|kept| (source.clone(), kept.key.clone(), *token));
            self.claims.extend(claimed);
        }
    }

    fn call(&mut self, step: &Step) -> Call {
        match step {
            Step::Advance(_) | Step::SetBack(_) => Call::Nothing,
            Step::Demand { source, keys, reason } => {
                Call::Demand(a_source(*source), some_keys(keys), a_reason(*reason))
            }
            Step::Undemand { source, keys, reason } => {
                Call::Undemand(a_source(*source), some_keys(keys), a_reason(*reason))
            }
            Step::Invalidate { source, keys } => Call::Invalidate(a_source(*source), some_keys(keys)),
            Step::Retry { source, keys } => Call::Retry(a_source(*source), some_keys(keys)),
            Step::Claim { source, limit, lease, max_attempts } => {
                self.tokens += 1;
                // Tokens use all of their bits.
                let token = Token(self.tokens.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                let lease = Duration::from_secs(*lease);
                let (source, limit, max_attempts) = (a_source(*source), *limit, *max_attempts);
                Call::Claim { source, limit, lease, token, max_attempts }
            }
            Step::Extend { claim, by } => {
                let Some((source, key, token)) = self.claim(*claim) else { return Call::Nothing };
                Call::Extend(source, vec![Held { key, token }], self.now.after(Duration::from_secs(*by)))
            }
            Step::Finish { claims, how, next } => {
                let claims: Vec<_> = claims.iter().filter_map(|claim| self.claim(*claim)).collect();
                let Some((source, ..)) = claims.first().cloned() else { return Call::Nothing };
                let same = claims.into_iter().filter(|(of, ..)| *of == source);
                let outcome = || self.outcome(*how, *next);
                Call::Finish(
                    source.clone(),
                    same.map(|(_, key, token)| Finish { key, token, outcome: outcome() }).collect(),
                )
            }
            Step::Mend { source, due, lease } => {
                Call::Mend(a_source(*source), Duration::from_secs(*due), Duration::from_secs(*lease))
            }
        }
    }

    fn claim(&self, back: usize) -> Option<(SourceName, Key, Token)> {
        let recent = self.claims.len().min(12);
        (recent > 0).then(|| self.claims[self.claims.len() - 1 - back % recent].clone())
    }

    fn outcome(&self, how: u8, next: u64) -> Outcome {
        let next = self.now.after(Duration::from_secs(next));
        let earliest = self.now.after(Duration::from_secs(u64::from(how % 3) * 5));
        match how % 7 {
            0 | 1 => Outcome::Done { next, earliest },
            2 | 3 => {
                let (stall, error) = (Duration::from_secs(90), LastError::new("cooling"));
                Outcome::Deferred { until: next, stall, error }
            }
            4 | 5 => Outcome::Failed {
                retry: next,
                earliest,
                max_attempts: 3,
                error: LastError::new("status 500"),
            },
            _ => Outcome::Released,
        }
    }

    /// Everything that the store holds is what it must hold.
    pub(super) async fn compare(&self, store: &dyn WorkStore) {
        let sources = [a_source(0), a_source(1)];
        let tallies = store.tally(&sources, self.now).await.expect("a tally");
        let next = store.next(&sources).await.expect("a time");
        for (of, (tally, next)) in sources.iter().zip(tallies.iter().zip(next)) {
            let page = Rows { troubled: false, after: None, limit: 100 };
            let rows = store.rows(of, &page).await.expect("a page");
            assert_eq!(rows, self.reference.rows(of), "rows of {of} after {:?}", self.call);
            let expected = self.reference.tally(of, self.now);
            assert_eq!((*tally, next), (expected, expected.next), "tally of {of} after {:?}", self.call);
        }
    }
}

fn a_source(n: u8) -> SourceName {
    source(["quotes", "news"][usize::from(n % 2)])
}

fn a_reason(n: u8) -> forbear_core::work::DemandReason {
    reason(["watchlist", "holding", "page"][usize::from(n % 3)])
}

fn some_keys(keys: &[u8]) -> Vec<Key> {
    keys.iter().map(|n| key(["A", "B", "C", "DD", "é"][usize::from(n % 5)])).collect()
}

fn draw(random: &mut fastrand::Rng) -> Step {
    let source = random.u8(0..2);
    let some: Vec<_> = (0..random.usize(1..4)).map(|_| random.u8(0..5)).collect();
    match random.u8(0..100) {
        0..18 => Step::Advance(random.u64(0..40)),
        18..20 => Step::SetBack(random.u64(0..100)),
        20..36 => Step::Demand { source, keys: some, reason: random.u8(0..3) },
        36..44 => Step::Undemand { source, keys: some, reason: random.u8(0..3) },
        44..52 => Step::Invalidate { source, keys: some },
        52..56 => Step::Retry { source, keys: some },
        56..74 => {
            let (limit, max_attempts) = (random.usize(0..4), random.u32(1..4));
            Step::Claim { source, limit, lease: random.u64(1..60), max_attempts }
        }
        74..78 => Step::Extend { claim: random.usize(..), by: random.u64(0..80) },
        78..98 => {
            let claims = (0..random.usize(1..4)).map(|_| random.usize(..)).collect();
            Step::Finish { claims, how: random.u8(..), next: random.u64(0..60) }
        }
        _ => Step::Mend { source, due: random.u64(0..60), lease: random.u64(0..60) },
    }
}

/// Plays `steps` random steps, the same for each seed, and compares the store with the reference after each.
///
/// # Panics
/// Where it differs, or answers an error; and where it was not empty.
pub async fn histories(store: Arc<dyn WorkStore>, seed: u64, steps: usize) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut history = History::new();
    history.compare(&*store).await;
    for n in 0..steps {
        history.step(&draw(&mut random));
        let answer = history.call.of(&*store, history.now).await;
        assert_eq!(answer, history.answer, "seed {seed}, step {n}: {:?} at {:?}", history.call, history.now);
        history.compare(&*store).await;
    }
}
