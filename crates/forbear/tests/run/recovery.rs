//! Everybody comes at the instant a cool-down ends.

use std::sync::{Arc, Mutex};

use forbear::{FamilyGate, Verdict};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::common::{MS, SECOND};
use crate::{Running, gate, limited, social};

const RUNS: usize = 1_000;

/// A run that takes 50 ms. The first, which is the probe, says how many had begun at its end.
async fn run(gate: FamilyGate, begun: Arc<Mutex<Vec<Instant>>>, running: Running) -> Option<usize> {
    let run = || {
        begun.lock().unwrap().push(Instant::now());
        let begun = running.begin();
        let probes = running.begun() == 1;
        async move {
            let _begun = begun;
            sleep(50 * MS).await;
            probes.then(|| running.begun())
        }
    };
    gate.run(run, |_| Verdict::Good).await.expect("its budget is long")
}

#[tokio::test(start_paused = true)]
async fn of_a_thousand_one_runs_until_it_is_accepted_and_then_they_run_at_a_pace() {
    let families = social();
    let gate = gate(&families).budget(600 * SECOND);
    // Twenty a second for ten seconds, then too many.
    for _ in 0..200 {
        let _ = gate.run(|| sleep(50 * MS), |()| Verdict::Good).await;
    }
    let _ = gate.run(|| sleep(MS), |()| limited(5 * SECOND)).await;
    sleep(5 * SECOND).await;

    let (begun, running) = (Arc::new(Mutex::new(Vec::new())), Running::default());
    let mut runs = JoinSet::new();
    for _ in 0..RUNS {
        runs.spawn(run(gate.clone(), Arc::clone(&begun), running.clone()));
    }
    let (mut most, mut probes) = (0, Vec::new());
    while !runs.is_empty() {
        while let Some(ended) = runs.try_join_next() {
            probes.extend(ended.unwrap());
        }
        most = most.max(running.now());
        sleep(5 * MS).await;
    }
    assert_eq!(probes, [1], "one probe, and nobody else until its verdict");

    let begun = begun.lock().unwrap();
    assert_eq!(begun.len(), RUNS, "each is run once");
    // A pace near the 20 a second that the vendor took before, not all at once.
    let early = begun.iter().filter(|at| **at - begun[0] < 20 * SECOND).count();
    assert!((300..=460).contains(&early), "{early} in 20 s");
    assert!(most <= 8, "{most} at a time");
}
