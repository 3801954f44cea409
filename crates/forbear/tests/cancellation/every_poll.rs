//! One caller goes away at each of its polls in turn, alone or among others, who are served all the same.

use crate::caller::Caller;
use crate::client::{Act, Plan, answer, limited};
use crate::common::MS;
use crate::crowd::all;
use crate::seeds::on_a_paused_clock;
use crate::world::{Layers, RETRIES, Stands, World, gate};

const SLOW: Plan = Plan { frames: 2, polls: 1, fails: false };

/// Plays `script` for a caller that goes away after every number of polls until it is served.
async fn each(layers: Layers, stands: Stands, script: &[Act]) {
    // How many come before it and after it. Only where attempts take turns it matters who was first.
    let crowds =
        [(0, 0), (0, 4), (2, 2)].into_iter().filter(|(ahead, _)| *ahead == 0 || layers.limits().is_some());
    for (late, (ahead, behind)) in
        [false, true].into_iter().flat_map(|late| crowds.clone().map(move |crowd| (late, crowd)))
    {
        for polls in 0.. {
            let context = format!(
                "{layers:?}, {stands:?}, {ahead} ahead, {behind} behind, late: {late}, {polls} polls, {script:?}"
            );
            let world = World::new(layers.limits(), stands, gate(), script.iter().copied()).await;
            world.client.trouble(1, []);
            let other = Caller { body: SLOW, ..Caller::new(layers) };
            let victim = Caller { polls, late, ..other };
            let mut callers = vec![other; ahead + 1 + behind];
            callers[ahead] = victim;
            let mut ended = all(callers.iter().map(|caller| caller.call(&world))).await;
            world.assert_nothing_is_held(&context);
            let stayed = ended.remove(ahead).is_some();
            if ended.is_empty()
                && let Some(left) = world.pacing().and_then(|pacing| pacing.retries_left)
            {
                // Of one logical request, all that were sent after the first are further ones.
                let spent = u64::from(RETRIES) - left;
                assert_eq!(spent, world.sent().saturating_sub(1) as u64, "further attempts: {context}");
            }
            if Layers::STACKS.contains(&layers) {
                assert!(ended.iter().all(|end| end.flatten().unwrap() == 200), "{context}");
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
        for layers in [Layers::Budget, Layers::RetryAfter, Layers::Pacing, Layers::Cooldown] {
            for stands in Stands::EACH {
                each(layers, stands, &[answer(200).polls(3).body(SLOW)]).await;
                each(layers, stands, &[limited(429, 1).polls(1).body(SLOW), answer(200).polls(1)]).await;
            }
        }
    });
}

fn stacks() -> impl Iterator<Item = (Layers, Stands)> {
    Layers::STACKS.into_iter().flat_map(|layers| Stands::EACH.map(|stands| (layers, stands)))
}

#[test]
fn all_layers_while_others_wait_and_recovery_runs() {
    on_a_paused_clock(async {
        for (layers, stands) in stacks() {
            each(layers, stands, &[answer(200).polls(2)]).await;
            each(layers, stands, &[answer(200).polls(1).delay(100 * MS).body(SLOW)]).await;
        }
    });
}

#[test]
fn all_layers_while_the_vendor_limits_again() {
    on_a_paused_clock(async {
        for (layers, stands) in stacks() {
            each(layers, stands, &[limited(429, 1).polls(1).body(SLOW), answer(200).polls(1)]).await;
            let late = limited(503, 1).delay(50 * MS).body(SLOW);
            each(layers, stands, &[late, limited(429, 1), answer(200).polls(1)]).await;
        }
    });
}
