//! Many callers against vendors with limits, lies and outages, through the real layers on a paused clock. After every
//! step all that can be seen from outside must hold:
//!
//! - at most one probe is out per family; nothing is sent while it cools, nor by a request that was told to wait;
//! - a cool-down is as long as was asked for, never longer than the longest there can be, and its end is never moved
//!   earlier; the level stays on the ladder and rises by strikes alone;
//! - a generation never goes back: what was sent before a strike, or before an operator closed or cleared the family,
//!   neither strikes nor opens it again;
//! - a dead route has a gate of its own, and leaves its family as an operator's clear does;
//! - counts agree with what was sent and answered; nobody waits who is not there;
//! - nothing is sent while an operator pauses a family; a configuration that is read again moves nothing;
//! - no call outlasts its budget, sends more than its attempts, or is never woken;
//! - in the end nothing is held, and every vendor that is well serves.
//!
//! `FORBEAR_SEED=123` plays one run alone and tells its story, `FORBEAR_SEEDS=1000000` plays as many as that.

mod above;
mod call;
#[path = "../../crates/forbear/tests/common/crowd.rs"]
mod crowd;
mod flight;
mod operate;
mod plan;
#[path = "../../crates/forbear/tests/common/seeds.rs"]
mod seeds;
mod wire;
mod world;

use std::collections::HashMap;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::Duration;

use fastrand::Rng;

use call::Layers;
use crowd::all;
use world::World;

const SECOND: Duration = Duration::from_secs(1);
const MS: Duration = Duration::from_millis(1);

const SEEDS: u64 = 10_000;

fn boxed<'a>(future: impl Future<Output = ()> + 'a) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
    Box::pin(future)
}

/// A clear forgets the recorded deadlines of the whole process. So a run in which an operator clears is played while no
/// other is. Each run has its thread for itself, so it may hold a lock while it awaits.
static CLEARS: RwLock<()> = RwLock::new(());

async fn run(seed: u64) -> u64 {
    let mut rng = Rng::with_seed(seed);
    let families = plan::families(&mut rng);
    let calls = plan::calls(&mut rng, families.len());
    let world = Rc::new(World::new(families));
    if world.tells {
        for watched in &world.watched {
            println!("{} {:?}", watched.family.host, watched.family.settings);
        }
        for call in &calls {
            println!("{call:?}");
        }
    }
    let permits = if rng.bool() { rng.usize(1..4) } else { usize::MAX >> 4 };
    let layers = Layers::new(&world, permits);
    let acts = operate::acts(&mut rng, world.watched.len());
    let clears = acts.iter().any(operate::Act::clears);
    let _alone = clears.then(|| CLEARS.write().unwrap_or_else(PoisonError::into_inner));
    let _among_others = (!clears).then(|| CLEARS.read().unwrap_or_else(PoisonError::into_inner));
    let acts = acts.iter().map(|act| boxed(world.operate(act)));
    let _ = all(calls.iter().map(|call| boxed(layers.call(call))).chain(acts)).await;
    world.assert_nothing_is_held();
    layers.assert_all_are_served().await;
    world.assert_nothing_is_held();
    world.digest()
}

#[test]
fn what_must_hold_holds_after_every_step() {
    seeds::play(SEEDS, async |seed| {
        let _ = run(seed).await;
    });
}

/// Otherwise a failing run could not be played again.
#[test]
fn a_run_is_the_same_wherever_it_is_played() {
    let digests = Mutex::new(HashMap::new());
    for _ in 0..2 {
        seeds::play(100, async |seed| {
            let digest = run(seed).await;
            assert_eq!(
                *digests.lock().unwrap().entry(seed).or_insert(digest),
                digest,
                "another run than before"
            );
        });
    }
}
