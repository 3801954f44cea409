//! Cancelled at every await.

use forbear::sweep::Report;
use forbear_mock::reply;

use crate::common::{cut, cut_when_woken};
use crate::{World, counts, items, secs};

fn troubled() -> World {
    let mut count = 0_u32;
    World::new(move |_| {
        count += 1;
        let delay = std::time::Duration::from_millis(u64::from(count % 7) * 10);
        if [2, 9, 10].contains(&count) { reply(429).retry_after(2) } else { reply(200).delay(delay) }
    })
}

/// Dropped after any number of polls: what is in the report was done, the rest was not begun or is no news, and a sweep over what is
/// missing does it all.
#[tokio::test(start_paused = true)]
async fn dropped_after_any_number_of_polls_nothing_done_is_lost_and_nothing_is_stuck() {
    for woken in [false, true] {
        for polls in 0.. {
            let world = troubled();
            let sweep = world.sweep().concurrency(3).budget(secs(120));
            let mut report = Report::new();
            let all: Vec<_> = items('a', 1..=8).chain(items('b', 1..=4)).collect();
            let run = sweep.run_into(&mut report, all.clone(), world.get());
            let ended = match woken {
                false => cut(run, polls).await,
                true => cut_when_woken(run, polls).await,
            };
            let context = format!("{polls} polls, when woken: {woken}");
            for family in ["a", "b"] {
                assert_eq!(world.families.health().family(family).unwrap().waiting, 0, "{context}");
            }
            let before: Vec<_> = report.done().iter().map(|done| done.item.clone()).collect();
            let accepted =
                world.mock.attempts().iter().filter(|a| a.status().is_some_and(|s| s == 200)).count();
            assert!(before.len() <= accepted, "{context}");
            let missing: Vec<_> = all.iter().filter(|item| !before.contains(item)).cloned().collect();
            let rest = sweep.run(missing.clone(), world.get()).await;
            assert_eq!(counts(&rest), (missing.len(), 0, 0), "{context}: {rest}");
            if ended.is_some() {
                assert_eq!(before.len(), all.len());
                break;
            }
        }
    }
}

/// The future of `next` may be dropped as often as one likes.
#[tokio::test(start_paused = true)]
async fn a_next_that_is_dropped_loses_nothing() {
    let world = troubled();
    let both = items('a', 1..=8).chain(items('b', 1..=4));
    let mut outcomes = world.sweep().concurrency(3).budget(secs(120)).stream(both, world.get());
    let mut seen = 0;
    loop {
        match cut(outcomes.next(), 1).await {
            Some(Some(_)) => seen += 1,
            Some(None) => break,
            None => tokio::time::sleep(std::time::Duration::from_millis(3)).await,
        }
    }
    assert_eq!(seen, 12);
}
