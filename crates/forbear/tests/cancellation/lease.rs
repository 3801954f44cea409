//! A caller that was granted the probe and goes away before it sent anything.

use std::pin::pin;

use forbear::NoWait;
use tokio::time::{Instant, sleep};
use tower::ServiceExt;

use crate::common::{MS, SECOND, answer, get, poll_once, with};
use crate::world::{Layers, PERMITS, Stands, URL, World};

/// The client is not ready when the cool-down ends, so the first in line holds the right to probe, unsent.
#[tokio::test(start_paused = true)]
async fn an_unsent_probe_is_handed_on_without_a_gap() {
    let world = World::new(Stands::Cooling, [answer(200)]).await;
    let mut first = Box::pin(world.service(Layers::All, 60 * SECOND).oneshot(get(URL)));
    assert!(poll_once(first.as_mut()).is_pending());
    let permits = world.permits.acquire_many(PERMITS.try_into().unwrap()).await.unwrap();
    sleep(5 * SECOND).await;
    assert!(poll_once(first.as_mut()).is_pending());
    drop(permits);
    let mut second = pin!(world.service(Layers::All, 60 * SECOND).oneshot(with(get(URL), NoWait)));
    let refused = second.as_mut().await.unwrap_err();
    assert!(refused.is_refusal(), "the first has the right: {refused:?}");

    let waiting = tokio::spawn(world.service(Layers::All, 60 * SECOND).oneshot(get(URL)));
    sleep(MS).await;
    let start = Instant::now();
    drop(first);
    assert_eq!(waiting.await.unwrap().unwrap(), 200);
    assert!(start.elapsed() < 10 * MS, "{:?}", start.elapsed());
    world.assert_nothing_is_held("after the second one probed");
}
