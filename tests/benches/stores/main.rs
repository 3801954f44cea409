//! What a million keys of refresh work cost in each store: `cargo bench -p forbear-benches --bench stores`. With `--keys N` fewer.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use forbear_benches::allocations::GLOBAL;
use forbear_core::store::{Finish, MemoryWorkStore, WorkStore};
use forbear_core::work::{DemandReason, Key, Outcome, SourceName, Stamp, Terms, Token};
use forbear_sqlite::{Durability, SqliteStore};

/// So many keys are demanded, claimed and finished in one call.
const BATCH: usize = 500;
const HOUR: Duration = Duration::from_secs(3600);

#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn timer() -> Instant {
    Instant::now()
}

fn at(seconds: u64) -> Stamp {
    Stamp::from_millis(1_800_000_000_000 + seconds * 1_000)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip_while(|argument| argument != "--keys").skip(1);
    let keys = arguments.next().and_then(|keys| keys.parse().ok()).unwrap_or(1_000_000);
    println!("| store | demand | claim | finish | claim and finish | bytes a key | tally | reopened in |");
    println!("|---|---|---|---|---|---|---|---|");
    let before = GLOBAL.stats();
    let held = |now: stats_alloc::Stats| {
        now.bytes_allocated.saturating_sub(before.bytes_allocated)
            - now.bytes_deallocated.saturating_sub(before.bytes_deallocated)
    };
    let memory: Arc<dyn WorkStore> = Arc::new(MemoryWorkStore::new());
    let measured = measure(&memory, keys).await?;
    measured.print("memory", held(GLOBAL.stats()) / keys, None);
    drop(memory);
    let directory = std::env::temp_dir().join(format!("forbear-stores-{}", std::process::id()));
    fs::create_dir_all(&directory)?;
    for (name, durability) in
        [("SQLite, `Full`", Durability::Full), ("SQLite, `Process`", Durability::Process)]
    {
        let path = directory.join(format!("{durability:?}.db"));
        let store = SqliteStore::settings().durability(durability).open(&path)?;
        let shared: Arc<dyn WorkStore> = Arc::new(store.clone());
        let measured = measure(&shared, keys).await?;
        drop(shared);
        store.close().await;
        let reopened = timer();
        drop(SqliteStore::open(&path)?);
        measured.print(name, length(&path) / keys, Some(reopened.elapsed()));
    }
    fs::remove_dir_all(directory)?;
    Ok(())
}

fn length(path: &Path) -> usize {
    fs::metadata(path).map_or(0, |file| usize::try_from(file.len()).unwrap_or(usize::MAX))
}

struct Measured {
    keys: usize,
    demand: Duration,
    claim: Duration,
    finish: Duration,
    tally: Duration,
}

impl Measured {
    fn print(&self, name: &str, bytes: usize, reopened: Option<Duration>) {
        let rate = |took: Duration| format!("{:.0}/s", self.keys as f64 / took.as_secs_f64());
        let both = rate(self.claim + self.finish);
        let (demand, claim, finish) = (rate(self.demand), rate(self.claim), rate(self.finish));
        let tally = format!("{:.1} ms", self.tally.as_secs_f64() * 1e3);
        let reopened = reopened.map_or("-".to_owned(), |took| format!("{:.0} ms", took.as_secs_f64() * 1e3));
        println!("| {name} | {demand} | {claim} | {finish} | {both} | {bytes} | {tally} | {reopened} |");
    }
}

/// Keys come in no order, as those of a program do.
fn key(number: usize) -> Result<Key, Box<dyn std::error::Error>> {
    Ok(Key::new(format!("{:08x}", (number as u32).wrapping_mul(2_654_435_761)))?)
}

async fn measure(store: &Arc<dyn WorkStore>, keys: usize) -> Result<Measured, Box<dyn std::error::Error>> {
    let (source, reason) = (SourceName::new("yahoo.quote")?, DemandReason::new("watchlist")?);
    let mut measured = Measured {
        keys,
        demand: Duration::ZERO,
        claim: Duration::ZERO,
        finish: Duration::ZERO,
        tally: Duration::ZERO,
    };
    for from in (0..keys).step_by(BATCH) {
        let batch = (from..keys.min(from + BATCH)).map(key).collect::<Result<Vec<_>, _>>()?;
        let began = timer();
        let _ = store.demand(&source, &batch, &reason, at(0)).await?;
        measured.demand += began.elapsed();
    }
    let began = timer();
    let tally = store.tally(std::slice::from_ref(&source), at(1)).await?;
    measured.tally = began.elapsed();
    assert_eq!(tally.first().map(|tally| tally.due), u64::try_from(keys).ok());
    let mut done = 0;
    while done < keys {
        let terms = Terms { now: at(1), lease: HOUR, token: Token(7), max_attempts: 8 };
        let began = timer();
        let claims = store.claim(&source, BATCH, &terms).await?;
        measured.claim += began.elapsed();
        let next = at(3600 + u64::try_from(done).unwrap_or_default() / 1000);
        let finish = |kept: forbear_core::store::Kept| Finish {
            key: kept.key,
            token: Token(7),
            outcome: Outcome::Done { next, earliest: at(0) },
        };
        let runs: Vec<_> = claims.claimed.into_iter().map(finish).collect();
        assert!(!runs.is_empty(), "{done} of {keys}");
        done += runs.len();
        let began = timer();
        let _ = store.finish(&source, &runs, at(2)).await?;
        measured.finish += began.elapsed();
    }
    Ok(measured)
}
