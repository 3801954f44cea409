//! Who waits for a family, and who does not.

use std::sync::{Arc, Mutex};

use forbear::{Error, HealthPhase, Operator, Priority, RefusalCause, Verdict};
use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

use crate::common::{MS, SECOND};
use crate::{Running, cooling, gate, limited, phase, says};

fn alice() -> Operator {
    Operator::new("alice", "contract ended")
}

#[tokio::test(start_paused = true)]
async fn a_cool_down_that_fits_the_budget_is_waited_out_and_the_run_is_the_probe() {
    let families = cooling(10 * SECOND).await;
    let start = Instant::now();
    let running = Running::default();
    let run = gate(&families).budget(30 * SECOND).run(
        || {
            let begun = running.begin();
            // Where there are no others, whoever waits is the one that is let through.
            assert_eq!(phase(&families), HealthPhase::Probing);
            async move { drop(begun) }
        },
        |()| Verdict::Good,
    );
    run.await.unwrap();
    assert!((10 * SECOND..=11 * SECOND).contains(&start.elapsed()), "{:?}", start.elapsed());
    assert_eq!((running.begun(), phase(&families)), (1, HealthPhase::Recovering));
}

#[tokio::test(start_paused = true)]
async fn a_cool_down_that_does_not_fit_is_refused_at_once() {
    let families = cooling(40 * SECOND).await;
    let start = Instant::now();
    let refused = says(&gate(&families).budget(30 * SECOND), Verdict::Good).await;
    let Err(Error::Cooling(refused)) = refused else { panic!("{refused:?}") };
    assert_eq!((refused.family(), refused.cause()), ("social", RefusalCause::Cooling));
    assert_eq!((refused.reason().as_str(), refused.retry_in()), ("rate_limit", Some(40 * SECOND)));
    assert!(start.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn without_a_budget_the_wait_is_at_most_a_minute() {
    for (delay, waits) in [(50, true), (70, false)] {
        let families = cooling(delay * SECOND).await;
        let start = Instant::now();
        let run = says(&gate(&families), Verdict::Good).await;
        assert_eq!(run.is_ok(), waits, "{run:?}");
        assert_eq!(start.elapsed() >= delay * SECOND, waits, "{:?}", start.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn no_wait_is_refused_at_once_and_never_run() {
    let families = cooling(SECOND).await;
    let start = Instant::now();
    let gate = gate(&families).budget(30 * SECOND).no_wait();
    let refused =
        gate.run(|| -> std::future::Ready<()> { unreachable!("it cools") }, |()| unreachable!("nothing ran"));
    assert!(matches!(refused.await, Err(Error::Cooling(_))));
    assert!(start.elapsed().is_zero());
}

#[tokio::test(start_paused = true)]
async fn a_pause_turns_away_who_comes_and_who_waits() {
    let families = cooling(20 * SECOND).await;
    let gate = gate(&families).budget(60 * SECOND);
    let start = Instant::now();
    let waiting = says(&gate, Verdict::Good);
    let pause = async {
        sleep(SECOND).await;
        families.pause("social", alice()).unwrap();
    };
    let (waited, ()) = tokio::join!(waiting, pause);
    for refused in [waited, says(&gate, Verdict::Good).await] {
        let Err(Error::Cooling(refused)) = refused else { panic!("{refused:?}") };
        assert_eq!((refused.cause(), refused.operator()), (RefusalCause::Paused, Some(&alice())));
    }
    assert_eq!(start.elapsed(), SECOND);
    families.resume("social", alice()).unwrap();
    assert!(says(&gate, Verdict::Good).await.is_ok());
    assert!(start.elapsed() >= 20 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn at_shutdown_who_waits_is_refused_and_what_runs_goes_on() {
    let families = cooling(SECOND).await;
    sleep(2 * SECOND).await;
    let gate = gate(&families).budget(60 * SECOND);
    let start = Instant::now();
    let probe = gate.run(|| sleep(200 * MS), |()| Verdict::Good);
    let shutdown = async {
        sleep(100 * MS).await;
        families.shutdown();
        start.elapsed()
    };
    let late = async {
        sleep(50 * MS).await;
        (says(&gate, Verdict::Good).await, start.elapsed())
    };
    let (probe, shut, (waited, ended)) = tokio::join!(probe, shutdown, late);
    assert!(probe.is_ok());
    let Err(Error::Cooling(refused)) = waited else { panic!("{waited:?}") };
    assert_eq!((refused.cause(), ended), (RefusalCause::ShuttingDown, shut));
}

#[tokio::test(start_paused = true)]
async fn a_clear_lets_in_who_waits() {
    let families = cooling(50 * SECOND).await;
    let start = Instant::now();
    let clear = async {
        sleep(SECOND).await;
        families.clear("social", alice()).unwrap();
    };
    let gate = gate(&families);
    let (waited, ()) = tokio::join!(says(&gate, Verdict::Good), clear);
    assert!(waited.is_ok());
    assert!(start.elapsed() < 2 * SECOND, "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn of_those_that_wait_one_probes_and_after_a_bad_verdict_again_one() {
    let families = cooling(5 * SECOND).await;
    let gate = gate(&families).budget(120 * SECOND);
    let begun = Mutex::new(Vec::new());
    let start = Instant::now();
    let runs = (0..4).map(|_| {
        let begin = || {
            begun.lock().unwrap().push(start.elapsed());
            // Refused by the vendor: all but the last two.
            let bad = begun.lock().unwrap().len() <= 2;
            async move {
                sleep(MS).await;
                bad
            }
        };
        gate.run(begin, |bad| if *bad { limited(5 * SECOND) } else { Verdict::Good })
    });
    let outputs: Vec<bool> = join_all(runs).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(outputs.iter().filter(|bad| **bad).count(), 2);
    let begun = begun.into_inner().unwrap();
    assert_eq!(begun.len(), 4, "each is run once");
    // 5 s, then 5 s stretched once and twice; jitter adds up to a second each.
    assert!((5 * SECOND..7 * SECOND).contains(&begun[0]), "{begun:?}");
    assert!(begun[1] - begun[0] >= 5 * SECOND && begun[2] - begun[1] >= 10 * SECOND, "{begun:?}");
}

#[tokio::test(start_paused = true)]
async fn interactive_runs_come_before_background_ones() {
    let families = cooling(SECOND).await;
    sleep(2 * SECOND).await;
    let gate = gate(&families).budget(120 * SECOND);
    let served = Arc::new(Mutex::new(Vec::new()));
    let probe = tokio::spawn(gate.run(|| sleep(100 * MS), |()| Verdict::Good));
    sleep(MS).await;
    let mut runs = Vec::new();
    for priority in [Priority::Background, Priority::Interactive] {
        for _ in 0..3 {
            let (gate, served) = (gate.clone().priority(priority), Arc::clone(&served));
            runs.push(tokio::spawn(async move {
                gate.run(async || served.lock().unwrap().push(priority), |()| Verdict::Good).await
            }));
            sleep(MS).await;
        }
    }
    probe.await.unwrap().unwrap();
    for run in runs {
        run.await.unwrap().unwrap();
    }
    let order = served.lock().unwrap().clone();
    assert_eq!(order[..3], [Priority::Interactive; 3], "{order:?}");
}
