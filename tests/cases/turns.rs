//! Attempts take their turn: nobody holds a place that it does not use, or keeps others waiting for ever.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use forbear::body::Replay;
use forbear::{Caller, Families, Family, Pacing, Priority};
use forbear_mock::{MockVendor, reply};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tower::buffer::Buffer;
use tower::{Layer, Service, ServiceExt};

use crate::support::{
    Body, Client, MILLISECOND, SECOND, answer, client, get, impatient, paced, settle, stacked,
};

/// Takes up to `longest` an answer, counts who is inside, and notes which request was sent.
fn crowded(longest: Duration) -> (Client, Arc<AtomicUsize>) {
    let (inside, peak) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&peak);
    let respond = move |request: Request<Replay<Body>>| {
        request.extensions().get::<Sent>().unwrap().0.store(true, Ordering::Relaxed);
        let took = longest * fastrand::u32(1..=10) / 10;
        let inside = Inside::enter(&inside);
        let _ = peak.fetch_max(inside.0.load(Ordering::Relaxed), Ordering::Relaxed);
        async move {
            sleep(took).await;
            drop(inside);
            Ok(answer(200))
        }
    };
    (client(respond), seen)
}

/// Whether an attempt was sent.
#[derive(Debug, Clone, Default)]
struct Sent(Arc<AtomicBool>);

/// Counts itself while it lives.
struct Inside(Arc<AtomicUsize>);

impl Inside {
    fn enter(inside: &Arc<AtomicUsize>) -> Self {
        let _ = inside.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(inside))
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        let _ = self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

// joshrotenberg/tower-resilience#365, joshrotenberg/tower-resilience#363: more were let in than allowed, whoever waited
// woke itself all the time, one that was dropped kept its place, and one that was woken went without a place.
#[tokio::test(start_paused = true)]
async fn sixty_four_clones_share_four_places_whoever_goes_away() {
    for seed in 0..30 {
        let mut random = fastrand::Rng::with_seed(seed);
        let families = paced(Pacing::new().in_flight(4));
        let (client, peak) = crowded(80 * MILLISECOND);
        let stack = forbear::stack(&families).budget(60 * SECOND).service(client);
        let (woken, granted) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..64)
            .map(|_| {
                let (vendor, woken, granted) = (stack.clone(), Arc::clone(&woken), Arc::clone(&granted));
                tokio::spawn(async move {
                    let (sent, mut request) = (Sent::default(), get("/"));
                    request.extensions_mut().insert(sent.clone());
                    let mut call = pin!(vendor.send(request));
                    let mut first = true;
                    let answer = poll_fn(|cx| {
                        let waited = !std::mem::take(&mut first) && !sent.0.load(Ordering::Relaxed);
                        let polled = call.as_mut().poll(cx);
                        let _ = woken.fetch_add(waited.into(), Ordering::Relaxed);
                        let went = waited && sent.0.load(Ordering::Relaxed);
                        let _ = granted.fetch_add(went.into(), Ordering::Relaxed);
                        polled
                    });
                    // Its place is taken until the body is read.
                    answer.await.unwrap().into_body().collect().await.unwrap();
                })
            })
            .collect();
        for task in &tasks {
            sleep(random.u32(0..20) * MILLISECOND).await;
            if random.bool() {
                task.abort();
            }
        }
        let mut served = 0;
        for task in tasks {
            served += usize::from(task.await.is_ok());
        }
        let pacing = families.health().family("vendor").unwrap().pacing.clone().unwrap();
        assert_eq!(peak.load(Ordering::Relaxed), 4, "seed {seed}: all places are used, and no more");
        assert_eq!((pacing.queued, pacing.in_flight), (0, Some(0)), "seed {seed}");
        assert!(served >= 20, "seed {seed}: {served} were served");
        let (woken, granted) = (woken.load(Ordering::Relaxed), granted.load(Ordering::Relaxed));
        assert!(granted >= 20 && woken < 2 * granted, "seed {seed}: {woken} wakes for {granted} grants");
    }
}

// tower-rs/tower#408, tower-rs/tower#434, ZcashFoundation/zebra#1593, hyperium/hyper-util#297: services that were ready
// but not called held every slot. Nor does one that waits for its turn hold the slot of a buffer.
#[tokio::test(start_paused = true)]
async fn who_is_ready_and_idle_or_waits_for_its_turn_holds_no_slot() {
    async fn sends_at_once<S, RB>(vendor: S)
    where
        S: Service<Request<Body>, Response = Response<RB>> + Clone + Send + 'static,
        S::Future: Send,
        S::Error: Send + std::fmt::Debug,
        RB: Send + 'static,
    {
        let mut waiting = JoinSet::new();
        for _ in 0..3 {
            let call = vendor.clone().oneshot(get("/"));
            waiting.spawn(async move { call.await.map(|_| ()) });
        }
        settle().await;
        let other = Request::get("http://other.test/").body(Body::default()).unwrap();
        let answer = timeout(SECOND, vendor.oneshot(other)).await.expect("it deadlocked").unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        while waiting.try_join_next().is_some() {}
        assert_eq!(waiting.len(), 2, "one went, the others wait for their turn");
    }
    let stack = || forbear::stack(&paced(Pacing::new().gap(30 * SECOND))).budget(600 * SECOND);
    let mock = || MockVendor::in_process().script(reply(200)).service();
    sends_at_once(Buffer::new(stack().layer(mock()), 1)).await;
    sends_at_once(stack().layer(Buffer::new(mock(), 1))).await;
    sends_at_once(Buffer::new(stack().layer(Buffer::new(mock(), 1)), 1)).await;

    // Each was ready while the one place was free, and none of them took it.
    let vendor = forbear::stack(&paced(Pacing::new().in_flight(1))).budget(30 * SECOND).layer(mock());
    let mut idle: Vec<_> = (0..64).map(|_| vendor.clone()).collect();
    for clone in &mut idle {
        ServiceExt::<Request<Body>>::ready(clone).await.unwrap();
    }
    let buffered = Buffer::new(idle.pop().unwrap(), 1);
    let start = Instant::now();
    assert_eq!(buffered.oneshot(get("/")).await.unwrap().status(), StatusCode::OK);
    assert!(start.elapsed() < SECOND, "{:?}", start.elapsed());
}

// ixti/sidekiq-throttled#188, sidekiq/sidekiq#5315: throttled jobs at the head of the queue kept all others waiting.
#[tokio::test(start_paused = true)]
async fn ten_thousand_that_wait_for_one_family_hold_up_no_other() {
    const QUEUED: usize = 10_000;
    for cools in [false, true] {
        let minute = Pacing::new().at_most(1_000, 10 * SECOND);
        let families = Families::builder()
            .family(Family::new("vendor").host("vendor.test").pacing(minute))
            .family(Family::new("other").host("other.test").pacing(Pacing::new().gap(50 * MILLISECOND)))
            .build()
            .unwrap();
        let script = cools.then(|| reply(429).retry_after(30)).into_iter().chain([reply(200)]);
        let mock = MockVendor::in_process().script(script.collect::<Vec<_>>()).route("/other", reply(200));
        let vendor = stacked(&families, 1_200 * SECOND, &mock);
        let first = vendor.send(impatient("/")).await.unwrap();
        assert_eq!(first.status() == StatusCode::TOO_MANY_REQUESTS, cools);
        let start = Instant::now();
        let mut waiting = JoinSet::new();
        for _ in 0..QUEUED {
            let vendor = vendor.clone();
            waiting.spawn(async move {
                assert_eq!(vendor.send(get("/")).await.unwrap().status(), StatusCode::OK);
                start.elapsed()
            });
        }
        settle().await;
        let mut others = JoinSet::new();
        for _ in 0..10 {
            let (vendor, other) = (vendor.clone(), Request::get("http://other.test/other"));
            others.spawn(
                async move { vendor.send(other.body(Body::default()).unwrap()).await.unwrap().status() },
            );
        }
        assert_eq!(others.join_all().await, [StatusCode::OK; 10]);
        assert!(start.elapsed() <= SECOND, "{:?}, cools: {cools}", start.elapsed());
        // Those who waited were served as the limit allows, the last of them too.
        let longest = waiting.join_all().await.into_iter().max().unwrap();
        let least = 10 * SECOND * (QUEUED as u32 / 1_000 - 1) + if cools { 30 * SECOND } else { SECOND };
        assert!(longest <= least * 110 / 100, "{longest:?} of {least:?}, cools: {cools}");
    }
}

// sidekiq/sidekiq#5315: whatever ranks lower was never served while there was anything else.
#[tokio::test(start_paused = true)]
async fn background_attempts_are_served_while_others_never_cease() {
    let families = paced(Pacing::new().gap(10 * MILLISECOND));
    let mock = MockVendor::in_process().script(reply(200));
    let vendor = stacked(&families, 600 * SECOND, &mock);
    let send = move |priority, caller: Option<Caller>| {
        let (vendor, mut request) = (vendor.clone(), get("/"));
        request.extensions_mut().insert(priority);
        if let Some(caller) = caller {
            request.extensions_mut().insert(caller);
        }
        async move { vendor.send(request).await.unwrap().status() }
    };
    // Never fewer than 200 that are interactive, one of them as soon as another is served.
    let mut rest = JoinSet::new();
    for number in 0..200 {
        let caller = (number % 2 == 0).then(|| Caller::of(number.to_string()));
        let send = send.clone();
        let (send, times) = (move || send(Priority::Interactive, caller), 100);
        rest.spawn(async move {
            for _ in 0..times {
                assert_eq!(send().await, StatusCode::OK);
            }
        });
    }
    settle().await;
    let start = Instant::now();
    let mut background = JoinSet::new();
    for _ in 0..20 {
        background.spawn(send(Priority::Background, None));
    }
    assert_eq!(background.join_all().await, [StatusCode::OK; 20]);
    // One in ten, each of them 10 ms and the millisecond of a timer.
    assert!(start.elapsed() <= 20 * 10 * 11 * MILLISECOND + SECOND, "{:?}", start.elapsed());
    assert_eq!(rest.len(), 200);
}
