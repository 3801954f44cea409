//! One caller among others goes away at each of its polls in turn; the others are served all the same.

use futures_util::future::join_all;
use tower::ServiceExt;

use crate::common::{Act, MS, SECOND, answer, cut, cut_when_woken, get, limited};
use crate::world::{Layers, Stands, URL, World};

/// Callers that stay.
const OTHERS: usize = 4;

/// Plays `script` for a caller that goes away after every number of polls until it is served.
async fn each(layers: Layers, stands: Stands, script: &[Act]) {
    for late in [false, true] {
        for polls in 0.. {
            let context = format!("{layers:?}, {stands:?}, late: {late}, {polls} polls");
            let world = World::new(stands, script.iter().copied()).await;
            let victim = world.service(layers, 60 * SECOND).oneshot(get(URL));
            let victim =
                async { if late { cut_when_woken(victim, polls).await } else { cut(victim, polls).await } };
            let others = (0..OTHERS).map(|_| world.service(layers, 60 * SECOND).oneshot(get(URL)));
            let (victim, others) = tokio::join!(victim, join_all(others));
            world.assert_nothing_is_held(&context);
            if layers == Layers::All {
                for other in others {
                    assert_eq!(other.unwrap(), 200, "{context}");
                }
            }
            world.assert_it_heals(&context).await;
            if victim.is_some() {
                assert!(polls > 0);
                break;
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn every_layer_alone() {
    for layers in [Layers::Budget, Layers::RetryAfter, Layers::Cooldown] {
        for stands in Stands::EACH {
            each(layers, stands, &[answer(200).polls(3)]).await;
            each(layers, stands, &[limited(429, 1).polls(1), answer(200).polls(1)]).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn all_layers_while_others_wait_and_recovery_runs() {
    for stands in Stands::EACH {
        each(Layers::All, stands, &[answer(200).polls(2)]).await;
        each(Layers::All, stands, &[answer(200).polls(1).delay(100 * MS)]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn all_layers_while_the_vendor_limits_again() {
    for stands in Stands::EACH {
        each(Layers::All, stands, &[limited(429, 1).polls(1), answer(200).polls(1)]).await;
        each(Layers::All, stands, &[limited(503, 1).delay(50 * MS), limited(429, 1), answer(200).polls(1)])
            .await;
    }
}
