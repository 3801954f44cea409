use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use forbear::refresh::work::Phase;
use forbear_mock::{MockVendor, reply};

use crate::support::*;

#[tokio::test(start_paused = true)]
async fn failures_wait_longer_and_longer_and_end_in_failed() {
    let world = World::new(MockVendor::in_process().script(reply(500)));
    let refresh = world.refresh(quotes().max_attempts(4).backoff(10 * SECOND, 30 * SECOND));
    refresh.demand("quotes", ["A"]).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(HOUR).await;
    let attempts = world.mock.attempts();
    let gaps: Vec<_> = attempts.windows(2).map(|two| two[1].since() - two[0].since()).collect();
    assert_eq!(gaps.len(), 3, "{gaps:?}");
    for (gap, at_least) in gaps.iter().zip([10, 20, 30]) {
        let least = Duration::from_secs(at_least);
        assert!((least..least.mul_f64(1.6)).contains(gap), "{gaps:?}");
    }
    let row = world.row("A").await.unwrap();
    assert_eq!((row.phase, row.attempts, row.error.unwrap().as_str()), (Phase::Failed, 4, "status 500"));

    tokio::time::sleep(50 * HOUR).await;
    refresh.invalidate("quotes", ["A"]).await.unwrap();
    tokio::time::sleep(HOUR).await;
    assert_eq!(world.mock.attempts().len(), 4);
    world.mock.set_script(reply(200));
    refresh.retry("quotes", ["A"]).await.unwrap();
    tokio::time::sleep(SECOND).await;
    assert_eq!(world.shelf.len(), 1);
    let row = world.row("A").await.unwrap();
    assert_eq!((row.phase, row.attempts, row.error), (Phase::Waiting, 0, None));
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_not_stored_is_fetched_and_handed_over_again() {
    let world = World::new(MockVendor::in_process().script(reply(200).body("7")));
    let (calls, shelf) = (Arc::new(AtomicUsize::new(0)), world.shelf.clone());
    let source = quotes().fetch(request).store(move |key, response| {
        let (calls, shelf) = (Arc::clone(&calls), shelf.clone());
        async move {
            assert_eq!(response.body(), "7");
            match calls.fetch_add(1, Ordering::SeqCst) {
                0 => Err("the disk is full"),
                1 => panic!("a bug in the callback"),
                2 => std::future::pending().await,
                _ => {
                    shelf.put(&key);
                    Ok(())
                }
            }
        }
    });
    let refresh = world.builder().source(source).build().unwrap();
    refresh.demand("quotes", ["A"]).await.unwrap();
    let running = run(&refresh);
    let error = async || world.row("A").await.unwrap().error.unwrap().to_string();
    tokio::time::sleep(SECOND).await;
    assert_eq!(error().await, "not stored: the disk is full");
    until(|| world.mock.attempts().len() == 2).await;
    tokio::time::sleep(SECOND).await;
    assert_eq!(error().await, "it panicked");
    until(|| world.mock.attempts().len() == 3).await;
    tokio::time::sleep(31 * SECOND).await;
    assert_eq!(error().await, "the store took longer than 30s");
    until(|| world.shelf.len() == 1).await;
    assert_eq!(world.row("A").await.unwrap().attempts, 0);
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn panics_and_errors_of_the_fetch_closure_are_failures_of_that_key_alone() {
    let world = World::new(MockVendor::in_process().script(reply(200)));
    let shelf = world.shelf.clone();
    let source = quotes().max_attempts(1).fetch(|key| match key.as_str() {
        "panics" => panic!("a bug in the closure"),
        "fails" => http::Request::get("http://not a url").body(Body::default()),
        _ => request(key),
    });
    let source = source.store(move |key, _| {
        shelf.put(&key);
        async { Ok::<_, std::io::Error>(()) }
    });
    let refresh = world.builder().source(source).build().unwrap();
    refresh.demand("quotes", ["panics", "fails", "A"]).await.unwrap();
    let running = run(&refresh);
    tokio::time::sleep(SECOND).await;
    assert_eq!(world.shelf.counts().into_iter().collect::<Vec<_>>(), [("A".to_owned(), 1)]);
    for (key, error) in [("panics", "it panicked"), ("fails", "no request: invalid uri character")] {
        let row = world.row(key).await.unwrap();
        assert_eq!((row.phase, row.error.unwrap().as_str()), (Phase::Failed, error));
    }
    running.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_takes_too_long_breaks_off_or_is_too_large_is_a_failure() {
    let world = World::new(
        MockVendor::in_process()
            .route("/slow", reply(200).delay(MINUTE))
            .route("/trickle", reply(200).body("abcdefgh").slow_body(1, 10 * SECOND))
            .route("/broken", reply(200).body("abc").close_in_body(1))
            .route("/large", reply(200).body("x".repeat(101)))
            .route("/reset", reply(200).reset())
            .route("/full", reply(200).body("x".repeat(100)))
            .route("/404", reply(404))
            .route("/403", reply(403)),
    );
    let refresh = world.refresh(quotes().max_attempts(1).body_limit(100));
    refresh
        .demand("quotes", ["slow", "trickle", "broken", "large", "reset", "full", "404", "403"])
        .await
        .unwrap();
    let running = run(&refresh);
    tokio::time::sleep(10 * MINUTE).await;
    for (key, error) in [
        ("slow", "budget exhausted after 30s and 1 attempt: the deadline passed"),
        ("trickle", "the fetch took longer than 30s"),
        ("broken", "the body of the answer broke off"),
        ("large", "the body of the answer is larger than 100 bytes; raise body_limit"),
        ("reset", "the client failed, see its source"),
        ("403", "status 403"),
    ] {
        let row = world.row(key).await.unwrap();
        assert_eq!((key, row.phase, row.error.unwrap().as_str()), (key, Phase::Failed, error));
    }
    let stored: Vec<_> = world.shelf.counts().into_keys().collect();
    assert_eq!(stored, ["404", "full"]);
    running.stop().await;
}
