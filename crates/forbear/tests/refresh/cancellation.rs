use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use forbear::refresh::work::Phase;
use forbear_mock::{MockVendor, reply};

use crate::support::*;

/// Polls a run so many times, and drops it there.
async fn cut(refresh: &forbear::Refresh, polls: usize) {
    let mut run = pin!(refresh.run(std::future::pending()));
    for _ in 0..polls {
        let ended = std::future::poll_fn(|cx| Poll::Ready(run.as_mut().poll(cx).is_ready())).await;
        assert!(!ended, "nobody told it to stop");
        // Its tasks go on, and its timers come.
        tokio::task::yield_now().await;
        tokio::time::sleep(Duration::from_millis(3)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn dropped_at_any_await_nothing_is_lost_and_nothing_stays_claimed() {
    for polls in 0..120 {
        let script =
            [reply(200).delay(Duration::from_millis(5)), reply(429).retry_after(1), reply(500), reply(200)];
        let world = World::new(MockVendor::in_process().script(script));
        world.store.yields(1);
        let refresh = world.refresh(quotes().drain(3));
        refresh.demand("quotes", numbered(8)).await.unwrap();
        cut(&refresh, polls).await;
        let running = run(&refresh);
        until(|| world.shelf.counts().len() == 8).await;
        tokio::time::sleep(2 * MINUTE).await;
        for key in numbered(8) {
            let row = world.row(&key).await.unwrap();
            assert_eq!((row.phase, row.done.is_some()), (Phase::Waiting, true), "{key}, cut after {polls}");
        }
        running.stop().await;
    }
}
