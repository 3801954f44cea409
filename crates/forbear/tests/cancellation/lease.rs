//! A caller that was granted the probe and goes away before it sent anything.

use std::pin::pin;

use forbear::NoWait;
use futures_util::future::join;
use http::{Request, StatusCode};
use tokio::time::{Instant, sleep};
use tower::ServiceExt;

use crate::client::{Frames, Plan, answer};
use crate::common::{MS, SECOND, poll_once, with};
use crate::seeds::on_a_paused_clock;
use crate::world::{Layers, PERMITS, Stands, URL, World, gate};

/// The client is not ready when the cool-down ends, so the first in line holds the right to probe, unsent.
#[test]
fn an_unsent_probe_is_handed_on_without_a_gap() {
    on_a_paused_clock(async {
        let world = World::new(None, Stands::Cooling, gate(), [answer(200)]).await;
        let get = || -> Request<Frames> {
            Request::get(URL).body(world.client.request_body(Plan::default())).unwrap()
        };
        let mut first = Box::pin(world.service(Layers::All, 60 * SECOND).oneshot(get()));
        assert!(poll_once(first.as_mut()).is_pending());
        let permits = world.permits.acquire_many(PERMITS.try_into().unwrap()).await.unwrap();
        sleep(5 * SECOND).await;
        assert!(poll_once(first.as_mut()).is_pending());
        drop(permits);
        let mut second = pin!(world.service(Layers::All, 60 * SECOND).oneshot(with(get(), NoWait)));
        let refused = second.as_mut().await.unwrap_err();
        assert!(refused.is_refusal(), "the first has the right: {refused:?}");

        let waiting = async {
            let answer = world.service(Layers::All, 60 * SECOND).oneshot(get()).await;
            (answer.unwrap().status(), Instant::now())
        };
        let leaving = async {
            sleep(MS).await;
            drop(first);
            Instant::now()
        };
        let ((status, served), left) = join(waiting, leaving).await;
        assert_eq!(status, StatusCode::OK);
        assert!(served - left < 10 * MS, "{:?}", served - left);
    });
}
