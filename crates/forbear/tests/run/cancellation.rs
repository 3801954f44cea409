//! Runs that are dropped at each of their polls: whatever they held goes to the next.

use forbear::{Budget, Families, Family, GateSettings, Verdict};
use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

use crate::common::{MS, SECOND, cut, cut_when_woken};
use crate::{Running, gate, limited, says};

/// Where the family stands when they come.
#[derive(Debug, Clone, Copy)]
enum Stands {
    Open,
    Cooling,
    Due,
    Recovering,
}

async fn family(stands: Stands) -> Families {
    // A lease that is not given back would close the family for an hour.
    let settings = GateSettings::registered().attempt_timeout(3600 * SECOND);
    let families = Families::builder().family(Family::new("social").gate(settings)).build().unwrap();
    if !matches!(stands, Stands::Open) {
        let _ = says(&gate(&families), limited(2 * SECOND)).await.unwrap();
    }
    if matches!(stands, Stands::Due | Stands::Recovering) {
        sleep(2 * SECOND).await;
    }
    if matches!(stands, Stands::Recovering) {
        let _ = says(&gate(&families), Verdict::Good).await.unwrap();
    }
    families
}

/// Pending a few times before it is over.
async fn work(running: Running, polls: usize) {
    let _begun = running.begin();
    for _ in 0..polls {
        tokio::task::yield_now().await;
    }
    sleep(20 * MS).await;
}

#[tokio::test(start_paused = true)]
async fn one_goes_away_at_every_poll_and_the_others_are_served() {
    for stands in [Stands::Open, Stands::Cooling, Stands::Due, Stands::Recovering] {
        for late in [false, true] {
            for polls in 0.. {
                let context = format!("{stands:?}, late: {late}, {polls} polls");
                let families = family(stands).await;
                let gate = gate(&families).budget(60 * SECOND);
                let running = Running::default();
                let run = || gate.run(|| work(running.clone(), 3), |()| Verdict::Good);
                let victim =
                    async { if late { cut_when_woken(run(), polls).await } else { cut(run(), polls).await } };
                let start = Instant::now();
                let (victim, others) = tokio::join!(victim, join_all((0..4).map(|_| run())));
                assert!(others.iter().all(Result::is_ok), "{context}: {others:?}");
                assert!(start.elapsed() < 45 * SECOND, "{context}: {:?}", start.elapsed());
                assert_eq!(running.now(), 0, "{context}");
                let health = families.health();
                assert_eq!(health.family("social").unwrap().waiting, 0, "{context}");
                assert_eq!(Budget::current(), None, "{context}");
                if victim.is_some() {
                    assert!(polls > 0);
                    break;
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_never_polled_holds_nothing() {
    let families = family(Stands::Due).await;
    let running = Running::default();
    let idle = gate(&families).run(|| work(running.clone(), 0), |()| Verdict::Good);
    let start = Instant::now();
    assert!(says(&gate(&families), Verdict::Good).await.is_ok());
    drop(idle);
    assert!(start.elapsed().is_zero());
    assert_eq!(running.begun(), 0);
}
