//! A panic anywhere in a run is no news of the vendor, and holds nothing.

use std::future::{Ready, ready};
use std::panic::{AssertUnwindSafe, resume_unwind};

use forbear::{Budget, FamilyGate, HealthPhase, Verdict};
use futures_util::FutureExt;
use tokio::time::{Instant, sleep};

use crate::common::SECOND;
use crate::{cooling, gate, phase, says, social};

#[derive(Debug, Clone, Copy)]
enum In {
    Closure,
    Future,
    Classify,
}

const EVERYWHERE: [In; 3] = [In::Closure, In::Future, In::Classify];

fn panics() -> ! {
    resume_unwind(Box::new("the program's own fault"))
}

/// A run that panicked there, as it is held by a caller that catches panics around a `&mut` of it.
async fn panicked(gate: FamilyGate, place: In) -> impl Sized {
    let run = gate.run(
        move || {
            if matches!(place, In::Closure) {
                panics()
            }
            async move {
                if matches!(place, In::Future) {
                    panics()
                }
            }
        },
        move |()| {
            if matches!(place, In::Classify) {
                panics()
            }
            Verdict::Good
        },
    );
    let mut run = Box::pin(run);
    assert!(AssertUnwindSafe(run.as_mut()).catch_unwind().await.is_err(), "{place:?}");
    assert_eq!(Budget::current(), None, "{place:?}");
    run
}

#[tokio::test(start_paused = true)]
async fn an_open_family_stays_open() {
    for place in EVERYWHERE {
        let families = social();
        let _held = panicked(gate(&families).budget(SECOND), place).await;
        let health = families.health();
        let social = health.family("social").unwrap();
        assert_eq!((social.phase, social.signals), (HealthPhase::Open, 0), "{place:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_probe_gives_its_lease_back() {
    for place in EVERYWHERE {
        let families = cooling(SECOND).await;
        sleep(2 * SECOND).await;
        let _held = panicked(gate(&families).budget(SECOND), place).await;
        assert_eq!(phase(&families), HealthPhase::Probing, "{place:?}: no news");
        let start = Instant::now();
        assert!(says(&gate(&families).budget(20 * SECOND), Verdict::Good).await.is_ok(), "{place:?}");
        // The gap after a probe without news, neither at once nor at the end of the refusal window.
        assert!((SECOND..3 * SECOND).contains(&start.elapsed()), "{place:?}: {:?}", start.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn polled_again_after_the_end_it_stays_pending() {
    let families = social();
    let mut run = Box::pin(gate(&families).run(|| -> Ready<u8> { ready(7) }, |_| Verdict::Good));
    assert_eq!(run.as_mut().await.unwrap(), 7);
    assert!(tokio::time::timeout(SECOND, run).await.is_err());
}
