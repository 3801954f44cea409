//! Nanoseconds per call, by criterion.

use std::fs;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use criterion::{Bencher, Criterion};
use forbear_benches::Call;
use forbear_benches::time::spent;
use forbear_core::time::Monotonic;

use crate::allocations;
use crate::rows::Row;

/// Runs criterion, and reads back what it found.
pub(crate) struct Timer {
    criterion: Criterion,
    directory: PathBuf,
}

impl Timer {
    pub(crate) fn new() -> Self {
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("criterion");
        let criterion = Criterion::default()
            .without_plots()
            .output_directory(&directory)
            .warm_up_time(Duration::from_millis(200))
            .measurement_time(Duration::from_millis(800))
            .sample_size(20);
        Self { criterion, directory }
    }

    /// One thread's calls.
    pub(crate) fn alone(&mut self, row: &Row, pending: bool) -> f64 {
        let mut call = (row.make)(pending);
        (0..row.round).for_each(|_| call());
        let when = if pending { "pending" } else { "ready" };
        self.median(row.name, when, |bencher| bencher.iter_custom(|times| spent(&mut call, times)))
    }

    /// Two threads' calls at once, each: the mean of both.
    pub(crate) fn by_two(&mut self, row: &Row) -> f64 {
        self.median(row.name, "two threads", |bencher| {
            bencher.iter_custom(|times| {
                let start = Barrier::new(2);
                let one = || {
                    let runtime =
                        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
                    let _inside = runtime.enter();
                    let mut call = (row.make)(false);
                    (0..row.round).for_each(|_| call());
                    start.wait();
                    spent(&mut call, times)
                };
                thread::scope(|scope| {
                    let (one, other) = (scope.spawn(one), scope.spawn(one));
                    (one.join().unwrap() + other.join().unwrap()) / 2
                })
            });
        })
    }

    /// The look for one of many recorded URLs; and how many bytes each costs.
    pub(crate) fn recorded(&mut self) -> (f64, f64) {
        let now = Monotonic::ORIGIN.after(Duration::from_secs(1));
        let (deadlines, bytes) = allocations::recorded(now);
        let urls: Vec<_> = (0..1_000).map(|number| allocations::url(number * 997)).collect();
        let mut next = 0;
        let mut look: Call = Box::new(move || {
            next = if next + 1 == urls.len() { 0 } else { next + 1 };
            assert!(black_box(deadlines.get(deadlines.key(&urls[next], None, None), now)).is_some());
        });
        let nanoseconds = self.median("recorded URL", "look", |bencher| {
            bencher.iter_custom(|times| spent(&mut look, times));
        });
        (nanoseconds, bytes)
    }

    fn median(&mut self, name: &str, when: &str, mut bench: impl FnMut(&mut Bencher<'_>)) -> f64 {
        let slug = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let (name, when) = (slug(name), slug(when));
        let mut group = self.criterion.benchmark_group(&name);
        group.bench_function(&when, &mut bench);
        group.finish();
        let file = self.directory.join(name).join(when).join("new/estimates.json");
        let estimates: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
        estimates["median"]["point_estimate"].as_f64().unwrap()
    }
}
