//! One caller goes away at each of its polls in turn, alone or among others, who are served all the same.

use crate::caller::Caller;
use crate::client::{Act, Plan, answer, limited};
use crate::common::MS;
use crate::crowd::all;
use crate::seeds::on_a_paused_clock;
use crate::world::{Layers, Stands, World, gate};

const SLOW: Plan = Plan { frames: 2, polls: 1, fails: false };

/// Plays `script` for a caller that goes away after every number of polls until it is served.
async fn each(layers: Layers, stands: Stands, script: &[Act]) {
    for (late, others) in [(false, 0), (false, 4), (true, 0), (true, 4)] {
        for polls in 0.. {
            let context =
                format!("{layers:?}, {stands:?}, {others} others, late: {late}, {polls} polls, {script:?}");
            let world = World::new(stands, gate(), script.iter().copied()).await;
            world.client.trouble(1, []);
            let other = Caller { body: SLOW, ..Caller::new(layers) };
            let victim = Caller { polls, late, ..other };
            let others = (0..others).map(|_| other);
            let callers = std::iter::once(victim).chain(others);
            let mut ended = all(callers.map(|caller| caller.call(&world))).await.into_iter();
            world.assert_nothing_is_held(&context);
            let stayed = ended.next().unwrap().is_some();
            if layers == Layers::All {
                assert!(ended.all(|end| end.flatten().unwrap() == 200), "{context}");
            }
            world.assert_it_heals(&context).await;
            if stayed {
                assert!(polls > 0);
                break;
            }
        }
    }
}

#[test]
fn every_layer_alone() {
    on_a_paused_clock(async {
        for layers in [Layers::Budget, Layers::RetryAfter, Layers::Cooldown] {
            for stands in Stands::EACH {
                each(layers, stands, &[answer(200).polls(3).body(SLOW)]).await;
                each(layers, stands, &[limited(429, 1).polls(1).body(SLOW), answer(200).polls(1)]).await;
            }
        }
    });
}

#[test]
fn all_layers_while_others_wait_and_recovery_runs() {
    on_a_paused_clock(async {
        for stands in Stands::EACH {
            each(Layers::All, stands, &[answer(200).polls(2)]).await;
            each(Layers::All, stands, &[answer(200).polls(1).delay(100 * MS).body(SLOW)]).await;
        }
    });
}

#[test]
fn all_layers_while_the_vendor_limits_again() {
    on_a_paused_clock(async {
        for stands in Stands::EACH {
            each(Layers::All, stands, &[limited(429, 1).polls(1).body(SLOW), answer(200).polls(1)]).await;
            let late = limited(503, 1).delay(50 * MS).body(SLOW);
            each(Layers::All, stands, &[late, limited(429, 1), answer(200).polls(1)]).await;
        }
    });
}
