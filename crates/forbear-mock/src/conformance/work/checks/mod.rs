//! One thing each that a store must do.

mod claims;
mod demand;
mod ends;
mod whole;

pub use claims::*;
pub use demand::*;
pub use ends::*;
pub use whole::*;

use std::sync::Arc;
use std::time::Duration;

use forbear_core::store::{Claims, Finish, WorkStore};
use forbear_core::work::{
    Demanded, Finished, Key, LastError, Outcome, Row, SourceName, Stamp, Terms, Token, Undemanded,
};

use super::call::claim_all;
use super::{at, key, keys, reason, source};

type Store = Arc<dyn WorkStore>;

const LEASE: Duration = Duration::from_secs(30);

fn terms(now: Stamp, token: u64) -> Terms {
    Terms { now, lease: LEASE, token: Token(token), max_attempts: 3 }
}

/// Demands all `names` for the reason `page`.
async fn demand(store: &Store, source: &SourceName, names: &[&str], now: Stamp) -> Vec<Demanded> {
    store.demand(source, &keys(names), &reason("page"), now).await.expect("a demand")
}

async fn claim(store: &Store, source: &SourceName, limit: usize, terms: &Terms) -> Claims {
    claim_all(&**store, source, limit, terms).await.expect("a claim")
}

fn names(claims: &Claims) -> Vec<&str> {
    claims.claimed.iter().map(|kept| kept.key.as_str()).collect()
}

async fn finish(
    store: &Store,
    source: &SourceName,
    name: &str,
    token: u64,
    outcome: Outcome,
    now: Stamp,
) -> Finished {
    let run = Finish { key: key(name), token: Token(token), outcome };
    store.finish(source, &[run], now).await.expect("an end")[0]
}

async fn row(store: &Store, source: &SourceName, name: &str) -> Option<Row> {
    store.row(source, &key(name)).await.expect("a row")
}

fn done(next: Stamp) -> Outcome {
    Outcome::Done { next, earliest: Stamp::EPOCH }
}

fn failed(retry: Stamp) -> Outcome {
    Outcome::Failed { retry, earliest: Stamp::EPOCH, max_attempts: 3, error: LastError::new("status 500") }
}

fn deferred(until: Stamp) -> Outcome {
    let stall = Duration::from_secs(24 * 60 * 60);
    Outcome::Deferred { until, stall, error: LastError::new("quotes is cooling") }
}

fn numbered(count: usize) -> Vec<Key> {
    (0..count).map(|n| key(&format!("key-{n:06}"))).collect()
}

async fn undemand(store: &Store, source: &SourceName, name: &str, why: &str) -> Undemanded {
    store.undemand(source, &[key(name)], &reason(why)).await.expect("an end of a demand")[0]
}
