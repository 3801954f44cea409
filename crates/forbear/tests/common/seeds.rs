//! Runs by number: each on tokio's paused clock, each the same wherever and after whatever it is played.
//!
//! `FORBEAR_SEED=123` plays that run alone, `FORBEAR_SEEDS=100000` as many as that.

use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use forbear::Families;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, sleep, timeout};

/// The cells in which a gate counts attempts repeat after so long.
const CELLS: u128 = 64_000;
/// No run takes so long: somebody was never woken.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 60 * 60);

fn paused() -> Runtime {
    Builder::new_current_thread().enable_time().start_paused(true).build().unwrap()
}

/// The origin of forbear's clock: its first reading in this process, which is here.
fn origin() -> Instant {
    static ORIGIN: OnceLock<Instant> = OnceLock::new();
    *ORIGIN.get_or_init(|| {
        paused().block_on(async {
            let _ = Families::builder().build().unwrap().health();
            Instant::now()
        })
    })
}

/// Runs `run` on a paused clock that stands at the beginning of the cells.
pub(crate) fn on_a_paused_clock<T>(run: impl Future<Output = T>) -> T {
    let origin = origin();
    paused().block_on(async {
        let past = origin.elapsed().as_millis() % CELLS;
        sleep(Duration::from_millis(u64::try_from(CELLS - past).unwrap())).await;
        timeout(LONGEST, run).await.expect("a caller was never woken")
    })
}

fn number(variable: &str) -> Option<u64> {
    let value = env::var(variable).ok()?;
    Some(value.parse().unwrap_or_else(|_| unreachable!("{variable} must be a number, not {value:?}")))
}

/// Plays the runs below `count`, on all cores. One that fails is named.
pub(crate) fn play(count: u64, run: impl AsyncFn(u64) + Sync) {
    let alone = number("FORBEAR_SEED");
    let (first, end) = match alone {
        Some(seed) => (seed, seed + 1),
        None => (0, number("FORBEAR_SEEDS").unwrap_or(count)),
    };
    let next = AtomicU64::new(first);
    let stop = AtomicBool::new(false);
    let failed = Mutex::new(Vec::new());
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                break;
            }
            // The layers draw their jitter from the thread's generator.
            fastrand::seed(seed);
            if catch_unwind(AssertUnwindSafe(|| on_a_paused_clock(run(seed)))).is_err() {
                stop.store(true, Ordering::Relaxed);
                failed.lock().unwrap().push(seed);
            }
        }
    };
    let threads = if alone.is_some() { 1 } else { thread::available_parallelism().map_or(1, Into::into) };
    thread::scope(|scope| {
        for _ in 0..threads {
            let _ = scope.spawn(work);
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "seed {failed:?} failed; FORBEAR_SEED={} plays it alone", failed[0]);
}
