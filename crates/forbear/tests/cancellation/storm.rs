//! Many callers come, wait, fail, panic and go away at random.

use std::num::NonZeroU32;
use std::time::Duration;

use fastrand::Rng;
use forbear::{Pacing, RetryQuota};

use crate::caller::Caller;
use crate::client::{Act, Plan, answer, fails, hangs, limited};
use crate::common::{MS, SECOND};
use crate::crowd::all;
use crate::seeds;
use crate::world::{Layers, QUOTA, Stands, URLS, WINDOW, World, gate};

const SEEDS: u64 = 6_000;

fn plan(rng: &mut Rng) -> Plan {
    match rng.u8(0..3) {
        0 => Plan::default(),
        _ => Plan { frames: rng.usize(0..3), polls: rng.usize(0..3), fails: rng.u8(0..8) == 0 },
    }
}

fn act(rng: &mut Rng) -> Act {
    let act = match rng.u8(0..11) {
        0..5 => answer(200),
        5 => limited(429, 1),
        6 => limited(503, 1),
        7 => answer(429),
        8 => answer(500),
        9 => answer(503),
        _ => fails(),
    };
    let act = act.polls(rng.usize(0..3)).body(plan(rng));
    if rng.bool() { act.delay(rng.u32(1..400) * MS) } else { act }
}

fn caller(layers: Layers, rng: &mut Rng) -> Caller {
    Caller {
        url: URLS[if rng.bool() { 0 } else { rng.usize(0..URLS.len()) }],
        layers,
        budget: rng.u32(0..20_000) * MS,
        after: if rng.bool() { rng.u32(0..4_000) * MS } else { Duration::ZERO },
        no_wait: rng.u8(0..4) == 0,
        no_queue: rng.u8(0..4) == 0,
        background: rng.u8(0..4) == 0,
        partition: *rng.choice(&[None, Some("a"), Some("b")]).unwrap(),
        body: plan(rng),
        holds: if rng.u8(0..4) == 0 { rng.u32(0..2_000) * MS } else { Duration::ZERO },
        polls: if rng.u8(0..4) == 0 { usize::MAX } else { rng.usize(0..16) },
        late: rng.bool(),
    }
}

/// Limits that everything may have to wait for, or next to nothing has to.
fn limits(rng: &mut Rng) -> Pacing {
    let mut limits = Pacing::new().at_most(QUOTA, WINDOW).in_flight(if rng.bool() { 1 } else { 4 });
    if rng.bool() {
        limits = limits.gap(rng.u32(1..10) * MS);
    }
    if rng.bool() {
        limits = limits.at_most(rng.u32(1..5), SECOND / 100);
    }
    if rng.u8(0..4) == 0 {
        limits = limits.queue(rng.usize(1..4));
    }
    if rng.u8(0..4) == 0 {
        limits = limits.steered(true);
    }
    if rng.u8(0..4) == 0 {
        limits = limits.retry_quota(RetryQuota::new(rng.u32(0..4)).permille(rng.u32(1..1_000)));
    }
    if rng.u8(0..4) == 0 {
        limits = limits.per_partition(Pacing::new().gap(rng.u32(1..10) * MS).in_flight(2));
    }
    limits
}

async fn storm(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    let layers = Layers::EACH[usize::try_from(seed % 6).unwrap()];
    let stands = *rng.choice(&Stands::EACH).unwrap();
    let mut script: Vec<_> = (0..rng.usize(0..12)).map(|_| act(&mut rng)).collect();
    // Where there is a budget, a hanging attempt ends with it.
    if matches!(layers, Layers::Budget | Layers::All | Layers::Paced) && rng.bool() {
        script.push(hangs());
    }
    script.push(answer(200));
    let mut gate = gate();
    if rng.u8(0..4) == 0 {
        gate = gate.recheck(rng.u32(1..1_000) * MS);
    }
    if rng.u8(0..4) == 0 {
        gate = gate.max_waiters(rng.usize(1..5));
    }
    let mut world = World::new(layers.limits().map(|_| limits(&mut rng)), stands, gate, script).await;
    world.attempts = NonZeroU32::new(rng.u32(0..8)).filter(|_| rng.bool());
    world.grace = if rng.u8(0..4) == 0 { rng.u32(0..500) * MS } else { Duration::ZERO };
    let faults: Vec<_> = (0..rng.usize(0..4)).map(|_| rng.usize(0..80)).collect();
    world.client.trouble(rng.usize(0..3), faults);
    let callers: Vec<_> = (0..rng.usize(1..12)).map(|_| caller(layers, &mut rng)).collect();
    // An answer, an error, a panic or none of them: what counts is what is left behind.
    let _ = all(callers.iter().map(|caller| caller.call(&world))).await;
    let context = format!("seed {seed}, {layers:?}, {stands:?}");
    world.assert_nothing_is_held(&context);
    world.attempts = None;
    world.assert_it_heals(&context).await;
}

#[test]
fn whoever_goes_away_at_whatever_poll_leaves_nothing_behind() {
    seeds::play(SEEDS, storm);
}
