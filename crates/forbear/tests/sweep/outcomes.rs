//! What is told of each item, and when.

use std::sync::{Arc, Mutex};

use forbear::Sweep;
use forbear::sweep::{Outcome, Progress};
use forbear_mock::{MockVendor, reply};
use tokio::time::Instant;

use crate::common::{Client, answer, fails};
use crate::{World, counts, items, refuses, secs};

#[tokio::test(start_paused = true)]
async fn every_answer_that_is_no_limit_is_done_and_faults_fail_at_once() {
    let client = Client::new([answer(200), answer(404), fails(), answer(500), answer(301)]);
    let families = forbear::Families::builder().build().unwrap();
    let vendor = forbear::stack(&families).service(client.clone());
    let get = |number: &u32| http::Request::get(format!("http://v.test/{number}")).body(crate::Body::new());
    let report = Sweep::new(vendor).concurrency(1).run(1..=5, get).await;
    let statuses: Vec<_> = report.done().iter().map(|done| done.response.status().as_u16()).collect();
    assert_eq!((counts(&report), statuses), ((4, 0, 1), vec![200, 404, 500, 301]));
    assert_eq!((report.failed()[0].item, client.sent()), (3, 5));
}

/// What is done is handed over when it is done, not when the slowest is.
#[tokio::test(start_paused = true)]
async fn outcomes_come_as_soon_as_they_are_known() {
    let world = World::new(|attempt| {
        let number: u64 = attempt.path()[3..].parse().unwrap();
        reply(200).delay(secs(10 - number))
    });
    let mut outcomes = world.sweep().stream(items('a', 1..=3), world.get());
    let start = Instant::now();
    for (path, at) in [("/a/3", 7), ("/a/2", 8), ("/a/1", 9)] {
        let outcome = outcomes.next().await.unwrap();
        // Before the first came back nobody knew more: one went alone, but it was ready at once.
        assert_eq!((outcome.item().as_str(), start.elapsed()), (path, secs(at)));
    }
    assert!(outcomes.next().await.is_none() && outcomes.is_complete());
}

#[tokio::test(start_paused = true)]
async fn no_more_than_so_many_are_on_their_way_and_zero_counts_as_one() {
    for (concurrency, most) in [(0, 1), (1, 1), (3, 3), (100, 20)] {
        let client = Client::new([answer(200).delay(secs(1))]);
        let families = forbear::Families::builder().build().unwrap();
        let vendor = forbear::stack(&families).service(client.clone());
        let seen = Arc::new(Mutex::new(0));
        let (flying, counted) = (Arc::clone(&seen), client.clone());
        let sweep = Sweep::new(vendor).concurrency(concurrency).progress(move |_| {
            let mut most = flying.lock().unwrap();
            *most = counted.in_flight().max(*most);
        });
        let get = |n: &u32| http::Request::get(format!("http://v.test/{n}")).body(crate::Body::new());
        let start = Instant::now();
        let report = sweep.run(0..20, get).await;
        assert_eq!(counts(&report), (20, 0, 0));
        assert_eq!(start.elapsed(), secs(20_u64.div_ceil(most)), "{concurrency}");
        assert!(*seen.lock().unwrap() < usize::try_from(most).unwrap() + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn progress_is_told_before_each_outcome_is_handed_over() {
    let world = World::new(refuses(&[2], 30));
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&told);
    let sweep = world.sweep().concurrency(1).budget(secs(10)).progress(move |progress| {
        tell.lock().unwrap().push((progress.done, progress.deferred, progress.taken));
    });
    let mut outcomes = sweep.stream(items('a', 1..=3), world.get());
    assert!(matches!(outcomes.next().await, Some(Outcome::Done(_))));
    assert_eq!(*told.lock().unwrap(), [(1, 0, 1)]);
    while outcomes.next().await.is_some() {}
    assert_eq!(*told.lock().unwrap(), [(1, 0, 1), (1, 1, 2), (1, 2, 3)]);
    let Progress { done, deferred, failed, in_flight, held, .. } = outcomes.progress();
    assert_eq!((done, deferred, failed, in_flight, held), (1, 2, 0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_sweep_of_nothing_is_over_at_once() {
    let world = World::new(|_| reply(200));
    let report = world.sweep().run(std::iter::empty::<String>(), world.get()).await;
    assert_eq!((counts(&report), report.is_complete()), ((0, 0, 0), true));
    assert_eq!(report.to_string(), "0 done, 0 deferred, 0 failed");
}

/// A 503 may have been carried out: what is not safe to repeat is not sent again by the sweep, and the outcome says so.
#[tokio::test(start_paused = true)]
async fn a_post_that_may_have_been_carried_out_is_not_sent_again() {
    let mock = MockVendor::in_process().script([reply(503).retry_after(5), reply(200)]);
    let families = forbear::Families::builder().build().unwrap();
    let vendor = forbear::stack(&families).service(mock.service());
    let post = |path: &&str| http::Request::post(mock.url(path)).body(crate::Body::new());
    let report = Sweep::new(vendor).budget(secs(60)).run(["/1"], post).await;
    assert_eq!(counts(&report), (0, 1, 0), "{report}");
    let late = &report.deferred()[0];
    assert_eq!((late.was_sent(), late.is_safe_to_repeat()), (true, false));
    mock.assert_attempts(1);
}

/// A body is never kept: the closure makes it again.
#[tokio::test(start_paused = true)]
async fn a_limited_upload_is_sent_again_whole_whatever_its_body_is() {
    use http_body_util::BodyExt;
    let mock = MockVendor::in_process().script([reply(429).retry_after(5), reply(200)]);
    let families = forbear::Families::builder().build().unwrap();
    let vendor = forbear::stack(&families).service(mock.service());
    // Larger than any layer keeps, and of no known length.
    let post = |item: &u8| {
        let frames = futures_util::stream::iter(
            std::iter::repeat_n(bytes::Bytes::from(vec![*item; 1024]), 200)
                .map(|bytes| Ok::<_, std::convert::Infallible>(hyper::body::Frame::data(bytes))),
        );
        http::Request::post(mock.url("/upload")).body(http_body_util::StreamBody::new(frames).boxed())
    };
    let report = Sweep::new(vendor).budget(secs(60)).run([7], post).await;
    assert_eq!(counts(&report), (1, 0, 0), "{report}");
    let attempts = mock.attempts();
    assert_eq!(attempts.iter().map(|attempt| attempt.body().len()).collect::<Vec<_>>(), [204_800, 204_800]);
}

/// A caller that counts attempts sends again by itself: two that do multiply.
#[tokio::test(start_paused = true)]
async fn a_request_that_declares_its_attempt_is_not_sent_again() {
    let world = World::new(refuses(&[1], 5));
    let get = world.get();
    let sdk = |path: &String| {
        let mut request = get(path);
        request.headers_mut().insert("x-stainless-retry-count", 0.into());
        request
    };
    let report = world.sweep().budget(secs(60)).run(items('a', 1..=1), sdk).await;
    assert_eq!(counts(&report), (0, 1, 0), "{report}");
    world.mock.assert_attempts(1);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_fails_is_the_source_of_the_failure() {
    let families = forbear::Families::builder().build().unwrap();
    let vendor = forbear::stack(&families).service(Client::new([fails()]));
    let get = |url: &&str| http::Request::get(*url).body(crate::Body::new());
    let mut outcomes = Sweep::new(vendor).stream(["http://v.test/?key=secret"], get);
    let failed = crate::failed(outcomes.next().await).unwrap();
    assert!(matches!(failed.error, forbear::Error::Client(_)));
    assert!(!failed.error.to_string().contains("secret"));
}
