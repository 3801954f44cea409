//! A call of a store as a value, and what it answers.

use std::time::Duration;

use forbear_core::store::{Claims, Finish, Held, WorkStore};
use forbear_core::work::{
    Bounds, DemandReason, Demanded, Extended, Finished, Invalidated, Key, Retried, SourceName, Stamp, Terms,
    Token, Undemanded,
};

#[derive(Debug, Clone)]
pub(super) enum Call {
    Nothing,
    Demand(SourceName, Vec<Key>, DemandReason),
    Undemand(SourceName, Vec<Key>, DemandReason),
    Invalidate(SourceName, Vec<Key>),
    Retry(SourceName, Vec<Key>),
    Claim { source: SourceName, limit: usize, lease: Duration, token: Token, max_attempts: u32 },
    Extend(SourceName, Vec<Held>, Stamp),
    Finish(SourceName, Vec<Finish>),
    Mend(SourceName, Duration, Duration),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    Nothing,
    Demanded(Vec<Demanded>),
    Undemanded(Vec<Undemanded>),
    Invalidated(Vec<Invalidated>),
    Retried(Vec<Retried>),
    Claims(Claims),
    Extended(Vec<Extended>),
    Finished(Vec<Finished>),
    Mended(u64),
}

impl Call {
    #[expect(clippy::panic, reason = "a suite says what is wrong by a panic")]
    pub(super) async fn of(&self, store: &dyn WorkStore, now: Stamp) -> Answer {
        let answered = match self {
            Self::Nothing => Ok(Answer::Nothing),
            Self::Demand(source, keys, reason) => {
                store.demand(source, keys, reason, now).await.map(Answer::Demanded)
            }
            Self::Undemand(source, keys, reason) => {
                store.undemand(source, keys, reason).await.map(Answer::Undemanded)
            }
            Self::Invalidate(source, keys) => {
                store.invalidate(source, keys, now).await.map(Answer::Invalidated)
            }
            Self::Retry(source, keys) => store.retry(source, keys, now).await.map(Answer::Retried),
            Self::Claim { source, limit, lease, token, max_attempts } => {
                let terms = Terms { now, lease: *lease, token: *token, max_attempts: *max_attempts };
                claim_all(store, source, *limit, &terms).await.map(Answer::Claims)
            }
            Self::Extend(source, claims, until) => {
                store.extend(source, claims, *until).await.map(Answer::Extended)
            }
            Self::Finish(source, runs) => store.finish(source, runs, now).await.map(Answer::Finished),
            Self::Mend(source, due, lease) => {
                let bounds = Bounds { now, rest: *due / 2, due: *due, lease: *lease };
                store.mend(source, &bounds).await.map(Answer::Mended)
            }
        };
        answered.unwrap_or_else(|error| panic!("{self:?} is answered with an error: {error}"))
    }
}

/// Goes on where a store stops early.
pub(super) async fn claim_all(
    store: &dyn WorkStore,
    source: &SourceName,
    limit: usize,
    terms: &Terms,
) -> Result<Claims, forbear_core::store::StoreError> {
    let mut all = Claims::default();
    loop {
        let claims = store.claim(source, limit - all.claimed.len(), terms).await?;
        all.claimed.extend(claims.claimed);
        all.failed.extend(claims.failed);
        all.reclaimed += claims.reclaimed;
        if !claims.more || all.claimed.len() >= limit {
            return Ok(all);
        }
    }
}
