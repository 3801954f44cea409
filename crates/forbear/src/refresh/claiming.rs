//! A claim that nobody waits for any longer is given back.

use std::sync::Arc;

use forbear_core::store::{Claims, StoreError};
use forbear_core::work::{Key, SourceName, Terms, Token};

use super::run::panicked;
use super::settle::release;
use super::shared::Shared;

/// Who waits for a claim. Dropped before it came, what it gives is given back.
struct Waits<'a>(&'a Shared, Token);

/// Claims keys of a source, in a task of its own: a store may claim although its answer is not waited for.
///
/// **Cancellation.** What it claims is given back.
pub(super) async fn claim(
    shared: &Arc<Shared>,
    (source, name): (usize, &SourceName),
    limit: usize,
    terms: Terms,
) -> Result<Claims, StoreError> {
    let token = terms.token;
    shared.live().claiming.insert(token);
    let _waits = Waits(shared, token);
    let (shared, name) = (Arc::clone(shared), name.clone());
    let claiming = tokio::spawn(async move {
        let claims = shared.store.claim(&name, limit, &terms).await?;
        let held = claims.claimed.iter().map(|kept| (source, kept.key.clone(), token));
        let held: Vec<_> = held.collect();
        if is_waited_for(&shared, token, &held) {
            return Ok(claims);
        }
        release(&shared, &held).await?;
        shared.told.look_at(source);
        Ok(Claims::default())
    });
    // Its runtime ends, or the store panicked.
    claiming.await.unwrap_or_else(|_| Err(panicked()))
}

/// Whether somebody waits for this claim still: then that holds the keys from now on.
fn is_waited_for(shared: &Shared, token: Token, held: &[(usize, Key, Token)]) -> bool {
    let mut live = shared.live();
    let waits = live.claiming.remove(&token);
    if waits {
        live.claims.extend(held.iter().map(|(source, key, token)| ((*source, key.clone()), *token)));
    }
    waits
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        self.0.live().claiming.remove(&self.1);
    }
}
