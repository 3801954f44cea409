//! What a watch on health sees, and what it leaves.

use forbear::{Class, Families, Family, FamilyGate, HealthPhase, Partition, Verdict, signal::Signal};
use tokio::time::{Instant, sleep, timeout};

use crate::common::SECOND;

fn families() -> Families {
    Families::builder().family(Family::new("mail").per_partition()).build().unwrap()
}

async fn limited(gate: &FamilyGate) {
    let signal = || Verdict::from(Signal::without_status(Class::Throttled).delay(30 * SECOND));
    gate.run(|| async {}, |()| signal()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_part_that_cools_is_a_change_of_its_family() {
    let families = families();
    let mut changes = families.changes();
    let _ = changes.next().await;
    for key in ["one", "other"] {
        let start = Instant::now();
        let strike = async {
            sleep(SECOND / 3).await;
            limited(&families.gate("mail").unwrap().partition(Partition::of(key))).await;
        };
        let (health, ()) = tokio::join!(timeout(20 * SECOND, changes.next()), strike);
        let health = health.expect("nothing is told");
        assert!(start.elapsed() < SECOND / 2, "{health}");
        let mail = health.family("mail").unwrap();
        assert!(mail.partitions.iter().all(|part| part.phase == HealthPhase::Cooling), "{health}");
    }
    // That time passes is none.
    assert!(timeout(20 * SECOND, changes.next()).await.is_err());
    assert_eq!(changes.next().await.families[0].partitions[0].phase, HealthPhase::Probing);
}

/// A status page may open a watch for every visitor, and nothing may happen for days.
#[tokio::test(start_paused = true)]
async fn a_watch_that_is_dropped_leaves_nothing_behind() {
    let families = families();
    families.on_signal(|_| {});
    let listeners = || format!("{families:?}").matches("Listeners(1)").count();
    let alone = listeners();
    assert!(alone > 0);
    let mut watches: Vec<_> = (0..100).map(|_| families.changes()).collect();
    assert_eq!(listeners(), 0);
    let _ = watches[50].next().await;
    watches.clear();
    assert_eq!(listeners(), alone);
}
