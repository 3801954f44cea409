//! Many who ask for the same, of an attempt that comes to nothing.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use forbear::Budget;
use futures_util::stream;
use http_body::Frame;
use http_body_util::StreamBody;

use crate::vendor::{Fault, answer, boxed, ok};
use crate::*;

const MANY: usize = 10_000;

type Frames = Vec<Result<Frame<bytes::Bytes>, Fault>>;

fn data(text: &'static str) -> Result<Frame<bytes::Bytes>, Fault> {
    Ok(Frame::data(bytes::Bytes::from_static(text.as_bytes())))
}

/// An answer whose body is these frames.
fn of_frames(mut head: Response<Body>, frames: Frames) -> Response<Body> {
    *head.body_mut() = boxed(StreamBody::new(stream::iter(frames)));
    head
}

/// One whose body begins, and goes on for ever.
fn hangs(mut head: Response<Body>) -> Response<Body> {
    use futures_util::StreamExt;
    *head.body_mut() = boxed(StreamBody::new(stream::iter([data("a")]).chain(stream::pending())));
    head
}

/// What becomes of many who ask at once: how many have a whole answer, an error or a panic, and how long it takes.
async fn all<S>(service: &S, many: usize) -> ([usize; 3], Duration)
where
    S: tower::Service<Request<Body>, Response = Answer, Error = forbear::Error> + Clone + Send + 'static,
    S::Future: Send,
{
    let begun = tokio::time::Instant::now();
    let asked: Vec<_> = (0..many)
        .map(|_| {
            let service = service.clone();
            tokio::spawn(async move {
                match service.oneshot(get(URL)).await {
                    Ok(answer) => answer.into_body().collect().await.is_ok(),
                    Err(_) => false,
                }
            })
        })
        .collect();
    let mut ended = [0; 3];
    for one in asked {
        let at = match one.await {
            Ok(true) => 0,
            Ok(false) => 1,
            Err(_) => 2,
        };
        ended[at] += 1;
    }
    (ended, begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_body_that_breaks_off_is_told_to_all_by_one_attempt() {
    let vendor = Vendor::new(|_| Ok(of_frames(ok(&[], ""), vec![data("a"), Err(Fault("cut"))])));
    vendor.takes(SECOND);
    assert_eq!(all(&service(&vendor), MANY).await, ([0, MANY, 0], SECOND));
    assert_eq!(vendor.attempts(), 1);
}

#[tokio::test(start_paused = true)]
async fn with_an_old_answer_in_hand_a_body_that_breaks_off_is_a_fault() {
    let vendor = Vendor::counting("max-age=10");
    let service = service(&vendor);
    ask(&service, URL).await;
    tokio::time::sleep(20 * SECOND).await;
    vendor.takes(SECOND);
    vendor.now(|_| Ok(of_frames(ok(&[], ""), vec![data("a"), Err(Fault("cut"))])));
    let leader = tokio::spawn({
        let service = service.clone();
        async move { send(&service, get(URL)).await.into_body().collect().await.is_err() }
    });
    settle().await;
    let (served, text) = ask(&service, URL).await;
    assert_eq!((because(served), text.as_str()), (Some(Because::Faulted), "1"));
    assert!(leader.await.unwrap(), "its own body broke off");
    assert_eq!(because(ask(&service, URL).await.0), Some(Because::FailedLately));
    assert_eq!(vendor.attempts(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_not_as_long_as_it_says_is_asked_for_by_each_at_once() {
    let vendor = Vendor::new(|_| Ok(ok(&[("cache-control", "max-age=60"), ("content-length", "9")], "abc")));
    vendor.takes(SECOND);
    assert_eq!(all(&service(&vendor), 100).await, ([100, 0, 0], 2 * SECOND));
}

/// Each panic is somebody's, but not one after the other for as long as anybody waits.
#[tokio::test(start_paused = true)]
async fn a_client_that_always_panics_is_called_for_one_follower_and_no_more() {
    let vendor = Vendor::new(|_| panic!("the client"));
    vendor.takes(SECOND);
    assert_eq!(all(&service(&vendor), MANY).await, ([0, MANY - 2, 2], 2 * SECOND));
    assert_eq!(vendor.attempts(), 2);
}

/// Panics where it is told, once.
#[derive(Clone)]
struct Panics {
    inner: Vendor,
    when: &'static str,
    left: std::sync::Arc<AtomicUsize>,
}

impl Panics {
    fn now(&self, when: &str) {
        let panics = self.when == when && self.left.swap(0, Ordering::SeqCst) > 0;
        assert!(!panics, "the client panics when {when}");
    }
}

impl tower::Service<Request<Body>> for Panics {
    type Response = Response<Body>;
    type Error = Fault;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Fault>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        self.now("ready");
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        self.now("called");
        let (this, answer) = (self.clone(), self.inner.call(request));
        Box::pin(async move {
            let mut answer = answer.await?;
            this.now("answering");
            let body = std::mem::take(answer.body_mut());
            let frames = stream::once(async move {
                tokio::time::sleep(SECOND).await;
                this.now("read");
                Ok::<_, Fault>(Frame::data(body.collect().await?.to_bytes()))
            });
            *answer.body_mut() = boxed(StreamBody::new(frames));
            Ok(answer)
        })
    }
}

#[tokio::test(start_paused = true)]
async fn wherever_the_client_panics_exactly_one_follower_succeeds_it() {
    for when in ["ready", "called", "answering", "read"] {
        let vendor = Vendor::counting("max-age=60");
        vendor.takes(SECOND);
        let client = Panics { inner: vendor.clone(), when, left: std::sync::Arc::new(AtomicUsize::new(1)) };
        let service = layer().layer(client);
        let (ended, _) = all(&service, 1_000).await;
        // A body that panics breaks off for its reader.
        let expected = if when == "read" { [999, 1, 0] } else { [999, 0, 1] };
        assert_eq!(ended, expected, "{when}");
        let before = usize::from(matches!(when, "answering" | "read"));
        assert_eq!(vendor.attempts(), 1 + before, "{when}");
        assert!(matches!(ask(&service, URL).await.0, Served::Fresh), "{when}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_304_that_nobody_asked_for_is_no_answer_and_makes_no_stampede() {
    for confirmed in [false, true] {
        let vendor = Vendor::new(|_| Ok(ok(&[("etag", "\"1\""), ("cache-control", "no-cache")], "whole")));
        let service = service(&vendor);
        if confirmed {
            ask(&service, URL).await;
        }
        let before = vendor.attempts();
        vendor.takes(SECOND);
        vendor.now(|_| Ok(answer(304, &[("etag", "\"2\"")], "")));
        assert_eq!(all(&service, MANY).await, ([0, MANY, 0], SECOND), "{confirmed}");
        assert_eq!(vendor.attempts() - before, 1);
    }
}

/// What its vendor confirms is served, also where the same answer says that it must not be stored.
#[tokio::test(start_paused = true)]
async fn a_304_that_forbids_to_store_gives_the_whole_and_is_nobody_elses() {
    for cache_control in ["no-cache", "max-age=10"] {
        let vendor = Vendor::new(move |request| {
            let confirms = request.headers().contains_key("if-none-match");
            Ok(if confirms {
                answer(304, &[("etag", "\"1\""), ("cache-control", "no-store"), ("x-new", "yes")], "")
            } else {
                ok(&[("etag", "\"1\""), ("cache-control", cache_control)], "whole")
            })
        });
        let service = service(&vendor);
        ask(&service, URL).await;
        tokio::time::sleep(20 * SECOND).await;
        let confirmed = send(&service, get(URL)).await;
        assert_eq!((confirmed.status().as_u16(), served(&confirmed)), (200, Served::Live), "{cache_control}");
        assert_eq!(confirmed.headers()["x-new"], "yes");
        assert_eq!(confirmed.headers()["cache-status"], "forbear; fwd=stale; fwd-status=200");
        assert_eq!(text(confirmed).await, "whole");
    }
}

/// A limited vendor is not asked ten thousand times more since its answer's body is too large to be told, or does not come.
#[tokio::test(start_paused = true)]
async fn a_bad_answer_is_told_to_all_whatever_its_body_does() {
    for status in [429, 503] {
        for body in ["large", "cut", "hangs"] {
            let vendor = Vendor::new(move |_| {
                let head = answer(status, &[("retry-after", "7"), ("content-type", "text/plain")], "");
                Ok(match body {
                    "large" => of_frames(head, (0..20).map(|_| data(LARGE)).collect()),
                    "cut" => of_frames(head, vec![data("a"), Err(Fault("cut"))]),
                    _ => hangs(head),
                })
            });
            vendor.takes(SECOND);
            let service = layer().max_entry(1_000).layer(vendor.clone());
            let leader = tokio::spawn(service.clone().oneshot(get(URL)));
            settle().await;
            let begun = tokio::time::Instant::now();
            let others = (0..1_000).map(|_| send(&service, get(URL)));
            for told in futures_util::future::join_all(others).await {
                assert_eq!(told.status().as_u16(), status, "{body}");
                assert_eq!(told.headers()["retry-after"], "7");
                assert_eq!(text(told).await, "", "{body}");
            }
            assert!(begun.elapsed() <= 6 * SECOND, "{body} {:?}", begun.elapsed());
            assert_eq!(vendor.attempts(), 1, "{status} {body}");
            drop(leader);
        }
    }
}

const LARGE: &str =
    "a body that is larger than what may be stored, when there are twenty of these one after the other";

/// A connection that died unseen: each attempt takes for ever, until one does not.
#[tokio::test(start_paused = true)]
async fn an_attempt_that_hangs_takes_its_key_with_it_for_a_budget_and_no_longer() {
    for hangs_in in ["head", "body"] {
        let vendor = Vendor::new(|_| Ok(hangs(ok(&[("cache-control", "max-age=60")], ""))));
        if hangs_in == "head" {
            vendor.takes(1_000_000 * SECOND);
        }
        let service = layer().budget(5 * SECOND).layer(vendor.clone());
        let asks = |service: StaleService<Vendor>| async move {
            let mut request = get(URL);
            request.extensions_mut().insert(Budget::within(2 * SECOND));
            let response = service.oneshot(request).await.ok()?;
            let body = tokio::time::timeout(2 * SECOND, response.into_body().collect()).await;
            body.is_ok_and(|body| body.is_ok()).then_some(())
        };
        let mut asked = Vec::new();
        for second in 0..20 {
            asked.push(tokio::spawn(asks(service.clone())));
            tokio::time::sleep(SECOND).await;
            if second == 1 {
                // From now on it answers.
                vendor.takes(Duration::ZERO);
                vendor.now(|_| Ok(ok(&[("cache-control", "max-age=60")], "good")));
            }
        }
        let mut good = 0;
        for one in asked {
            good += usize::from(one.await.unwrap().is_some());
        }
        // Those who came while it was joined, at most.
        assert!((13..=18).contains(&good), "{good} in the {hangs_in}");
        assert_eq!(vendor.attempts(), 2, "{hangs_in}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_revalidation_that_hangs_is_followed_by_another_though_somebody_always_waits() {
    for cache_control in ["max-age=10", "max-age=10, stale-while-revalidate=600"] {
        let vendor = Vendor::counting(cache_control);
        let service = layer().budget(5 * SECOND).policy(StalePolicy::new().patience(300 * MS));
        let service = service.layer(vendor.clone());
        ask(&service, URL).await;
        tokio::time::sleep(20 * SECOND).await;
        vendor.takes(1_000_000 * SECOND);
        let mut asked = Vec::new();
        for tenth in 0..100 {
            let service = service.clone();
            asked.push(tokio::spawn(async move { ask(&service, URL).await.0 }));
            tokio::time::sleep(100 * MS).await;
            if tenth == 10 {
                vendor.takes(Duration::ZERO);
            }
        }
        assert_eq!(ask(&service, URL).await.0, Served::Fresh, "{cache_control}");
        let mut old = 0;
        for one in asked {
            old += usize::from(matches!(one.await.unwrap(), Served::Stale { .. }));
        }
        assert!((45..=55).contains(&old), "{old} {cache_control}");
        assert_eq!((vendor.attempts(), vendor.in_flight()), (3, 0), "{cache_control}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_listens_to_a_stream_keeps_nobody_waiting() {
    for kind in ["Text/Event-Stream; charset=utf-8", "multipart/x-mixed-replace; boundary=x", "text/plain"] {
        let vendor =
            Vendor::new(move |_| Ok(hangs(ok(&[("content-type", kind), ("cache-control", "no-cache")], ""))));
        let service = service(&vendor);
        let first = send(&service, get(URL)).await;
        let begun = tokio::time::Instant::now();
        let second = send(&service, get(URL)).await;
        // Nobody can see of the third that it is one; but it ends no later than what goes on in the background.
        let most = if kind == "text/plain" { 60 * SECOND } else { Duration::ZERO };
        assert!(begun.elapsed() <= most, "{kind} {:?}", begun.elapsed());
        assert_eq!((served(&second), vendor.attempts()), (Served::Live, 2), "{kind}");
        drop((first, second));
    }
}

/// By what its answers are selected a vendor says anew each time.
#[tokio::test(start_paused = true)]
async fn a_vendor_whose_vary_changes_each_time_makes_no_convoy() {
    let mut attempts = 0;
    let vendor = Vendor::new(move |_| {
        attempts += 1;
        Ok(ok(&[("cache-control", "max-age=60"), ("vary", ["x-a", "x-b"][attempts % 2])], "x"))
    });
    vendor.takes(SECOND);
    let service = service(&vendor);
    let begun = tokio::time::Instant::now();
    let asked = (0..900).map(|n| {
        let mut request = get(URL);
        for (name, value) in [("x-a", n % 30), ("x-b", n / 30)] {
            request.headers_mut().insert(name, value.to_string().parse().unwrap());
        }
        send(&service, request)
    });
    futures_util::future::join_all(asked).await;
    assert!(begun.elapsed() <= 5 * SECOND, "{:?}", begun.elapsed());
    assert!(vendor.attempts() <= 900, "{}", vendor.attempts());
}

/// With the fields in hand that select an answer, one language does not wait for another.
#[tokio::test(start_paused = true)]
async fn what_is_selected_by_other_fields_is_revalidated_side_by_side() {
    let vendor = Vendor::new(|request| {
        let language = request.headers()["accept-language"].to_str().unwrap();
        Ok(ok(
            &[("cache-control", "max-age=10, stale-while-revalidate=600"), ("vary", "accept-language")],
            language,
        ))
    });
    let service = service(&vendor);
    let asks = |language: &str| {
        let mut request = get(URL);
        request.headers_mut().insert("accept-language", language.parse().unwrap());
        request
    };
    for language in ["a", "b", "c"] {
        text(send(&service, asks(language)).await).await;
    }
    tokio::time::sleep(20 * SECOND).await;
    vendor.takes(SECOND);
    for language in ["a", "b", "c"] {
        let (served, text) = read(send(&service, asks(language)).await).await;
        assert_eq!((because(served), text.as_str()), (Some(Because::Revalidating), language));
    }
    tokio::time::sleep(SECOND + MS).await;
    for language in ["a", "b", "c"] {
        assert_eq!(served(&send(&service, asks(language)).await), Served::Fresh, "{language}");
    }
    assert_eq!(vendor.attempts(), 6);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_whose_patience_is_short_share_one_attempt_which_fills() {
    for patience in [Duration::ZERO, 300 * MS, Duration::MAX] {
        let vendor = Vendor::counting("max-age=10");
        let policy = StalePolicy::new().patience(patience).max_stale(Duration::MAX).retry_gap(Duration::MAX);
        let service = layer().budget(Duration::MAX).policy(policy).layer(vendor.clone());
        ask(&service, URL).await;
        tokio::time::sleep(20 * SECOND).await;
        vendor.takes(5 * SECOND);
        let begun = tokio::time::Instant::now();
        let all = futures_util::future::join_all((0..1_000).map(|_| ask(&service, URL))).await;
        let slow = patience < 5 * SECOND;
        assert!(all.iter().all(|(served, _)| (because(*served) == Some(Because::Slow)) == slow));
        assert_eq!(begun.elapsed(), patience.min(5 * SECOND));
        tokio::time::sleep(5 * SECOND + MS).await;
        assert_eq!(ask(&service, URL).await, (Served::Fresh, "2".into()));
        assert_eq!((vendor.attempts(), vendor.in_flight()), (2, 0), "{patience:?}");
    }
}

/// Between a look at what is stored and the attempt, another's attempt may have ended.
#[tokio::test(start_paused = true)]
async fn who_looked_before_it_was_stored_asks_for_it_no_more() {
    let vendor = Vendor::counting("max-age=10");
    let service = service(&vendor);
    // It looks when it is called, and asks when it is polled.
    let late = tower::Service::call(&mut service.clone(), get(URL));
    assert_eq!(ask(&service, URL).await, (Served::Live, "1".into()));
    assert_eq!(read(late.await.unwrap()).await, (Served::Fresh, "1".into()));
    tokio::time::sleep(20 * SECOND).await;
    let late = tower::Service::call(&mut service.clone(), get(URL));
    assert_eq!(ask(&service, URL).await, (Served::Live, "2".into()));
    assert_eq!(read(late.await.unwrap()).await, (Served::Fresh, "2".into()));
    assert_eq!(vendor.attempts(), 2);
}
