//! Many callers come, wait, fail, panic and go away at random.

use std::panic::AssertUnwindSafe;

use fastrand::Rng;
use forbear::NoWait;
use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::time::sleep;
use tower::ServiceExt;

use crate::common::{
    Act, MS, answer, cut, cut_when_woken, fails, get, hangs, limited, panics, panics_in_call, with,
};
use crate::world::{Layers, Stands, URL, World};

const SEEDS: u64 = 400;

fn act(rng: &mut Rng) -> Act {
    let act = match rng.u8(0..10) {
        0..4 => answer(200),
        4 => limited(429, 1),
        5 => limited(503, 1),
        6 => answer(500),
        7 => fails(),
        8 => panics(),
        _ => panics_in_call(),
    };
    let act = act.polls(rng.usize(0..3));
    if rng.bool() { act.delay(rng.u32(1..400) * MS) } else { act }
}

/// One caller: when it comes, how long it may take, and how many polls it lives.
async fn caller(world: &World, layers: Layers, mut rng: Rng) {
    if rng.bool() {
        sleep(rng.u32(0..4_000) * MS).await;
    }
    let request = if rng.u8(0..4) == 0 { with(get(URL), NoWait) } else { get(URL) };
    let call = world.service(layers, rng.u32(0..20_000) * MS).oneshot(request);
    let polls = if rng.u8(0..4) == 0 { usize::MAX } else { rng.usize(0..9) };
    let call = async { if rng.bool() { cut(call, polls).await } else { cut_when_woken(call, polls).await } };
    // An answer, an error, a panic or none of them: what counts is what is left behind.
    let _ = AssertUnwindSafe(call).catch_unwind().await;
}

#[tokio::test(start_paused = true)]
async fn whoever_goes_away_at_whatever_poll_leaves_nothing_behind() {
    for seed in 0..SEEDS {
        let mut rng = Rng::with_seed(seed);
        let layers = Layers::EACH[usize::try_from(seed % 4).unwrap()];
        let stands = *rng.choice(&Stands::EACH).unwrap();
        let mut script: Vec<_> = (0..rng.usize(0..12)).map(|_| act(&mut rng)).collect();
        // Where there is a budget, a hanging attempt ends with it.
        if matches!(layers, Layers::Budget | Layers::All) && rng.bool() {
            script.push(hangs());
        }
        script.push(answer(200));
        let world = World::new(stands, script).await;
        let callers = (0..rng.usize(1..12)).map(|_| caller(&world, layers, rng.fork()));
        join_all(callers.collect::<Vec<_>>()).await;
        let context = format!("seed {seed}, {layers:?}, {stands:?}");
        world.assert_nothing_is_held(&context);
        world.assert_it_heals(&context).await;
    }
}
