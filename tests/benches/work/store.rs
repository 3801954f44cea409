//! The memory store: what it holds, and how fast keys go through it.

use std::time::{Duration, Instant};

use forbear_benches::allocations::GLOBAL;
use forbear_core::store::{Finish, MemoryWorkStore, WorkStore};
use forbear_core::work::{DemandReason, Key, Outcome, SourceName, Stamp, Terms, Token};

/// Claimed and finished in one call each, as a refresh does with what is in flight.
const BATCH: usize = 16;

pub(super) async fn measure(count: usize) {
    let store = MemoryWorkStore::with_room_for(count.try_into().expect("at least one key"));
    let source = SourceName::new("quotes").expect("a name");
    let reason = DemandReason::new("watchlist").expect("a reason");
    let keys: Vec<_> = (0..count).map(|n| Key::new(format!("KEY-{n:08}")).expect("a key")).collect();
    let now = Stamp::from_millis(1_800_000_000_000);

    let before = held();
    let start = now_for_real();
    for batch in keys.chunks(1_000) {
        let _ = store.demand(&source, batch, &reason, now).await.expect("a demand");
    }
    let demanded = start.elapsed();
    println!("{count} keys in memory, of 12 bytes, each for one reason");
    println!("  demanded         {:>12.0} a second, by the thousand", per_second(count, demanded));
    println!(
        "  held             {:>12.0} bytes a key, beside the key's own",
        (held() - before) as f64 / count as f64
    );

    let start = now_for_real();
    let mut done = 0;
    loop {
        let terms =
            Terms { now, lease: Duration::from_secs(60), token: Token(done as u64 + 1), max_attempts: 5 };
        let claims = store.claim(&source, BATCH, &terms).await.expect("a claim");
        if claims.claimed.is_empty() {
            break;
        }
        done += claims.claimed.len();
        let next = now.after(Duration::from_secs(900) + Duration::from_millis(done as u64 % 90_000));
        let outcome = || Outcome::Done { next, earliest: now };
        let runs: Vec<_> = claims
            .claimed
            .into_iter()
            .map(|kept| Finish { key: kept.key, token: terms.token, outcome: outcome() })
            .collect();
        let _ = store.finish(&source, &runs, now).await.expect("an end");
    }
    println!("  claim + complete {:>12.0} a second, {BATCH} at a time", per_second(done, start.elapsed()));
    let start = now_for_real();
    let _ = store.tally(std::slice::from_ref(&source), now.after(Duration::from_secs(3_600))).await;
    println!("  tally            {:>12.1?}, all due", start.elapsed());
    println!();
}

fn held() -> usize {
    let stats = GLOBAL.stats();
    stats.bytes_allocated.saturating_sub(stats.bytes_deallocated)
}

fn per_second(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64()
}

#[expect(clippy::disallowed_methods, reason = "what is measured is real time")]
fn now_for_real() -> Instant {
    Instant::now()
}
