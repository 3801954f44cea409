//! The client panics at each of its steps in turn: when it is made ready, called, polled, and when a body is read.

use crate::caller::Caller;
use crate::client::{Act, Plan, answer, limited};
use crate::common::MS;
use crate::crowd::all;
use crate::seeds::on_a_paused_clock;
use crate::world::{Layers, Stands, World, gate};

const SLOW: Plan = Plan { frames: 1, polls: 1, fails: false };

async fn each(layers: Layers, stands: Stands, script: &[Act]) {
    for callers in [1, 4] {
        for step in 0.. {
            let context =
                format!("{layers:?}, {stands:?}, {callers} callers, panic at step {step}, {script:?}");
            let world = World::new(layers.limits(), stands, gate(), script.iter().copied()).await;
            world.client.trouble(1, [step]);
            let caller = Caller { body: SLOW, ..Caller::new(layers) };
            let ended = all((0..callers).map(|_| caller.call(&world))).await;
            let over = world.client.steps() <= step;
            world.assert_nothing_is_held(&context);
            let panicked = ended.iter().filter(|end| end.is_none()).count();
            assert_eq!(panicked, usize::from(!over), "{context}");
            if Layers::STACKS.contains(&layers) {
                let served =
                    ended.iter().filter(|end| end.flatten().is_some_and(|status| status == 200)).count();
                assert_eq!(served, callers - panicked, "{context}");
            }
            world.assert_it_heals(&context).await;
            if over {
                break;
            }
        }
    }
}

#[test]
fn every_layer_alone() {
    on_a_paused_clock(async {
        for layers in [Layers::Budget, Layers::RetryAfter, Layers::Pacing, Layers::Cooldown] {
            for stands in Stands::EACH {
                each(layers, stands, &[limited(429, 1).polls(1).body(SLOW), answer(200).polls(1).body(SLOW)])
                    .await;
            }
        }
    });
}

#[test]
fn all_layers() {
    on_a_paused_clock(async {
        for layers in Layers::STACKS {
            for stands in Stands::EACH {
                each(layers, stands, &[answer(200).polls(1).delay(100 * MS).body(SLOW)]).await;
                let refused = limited(503, 1).delay(50 * MS).body(SLOW);
                each(layers, stands, &[refused, limited(429, 1), answer(200).body(SLOW)]).await;
            }
        }
    });
}
