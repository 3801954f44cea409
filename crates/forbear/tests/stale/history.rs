//! Random histories over a store that is slow and fails now and then: what was changed or purged does not come back, also in the next process, and
//! nobody is served what another was given.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use fastrand::Rng;
use forbear::stale::PurgeResponses;
use forbear_core::store::{
    FoundResponses, KeptResponses, MemoryResponses, ResponseKey, ResponseSecret, ResponseStore, StoreError,
    StoreFault, StoreFuture, StoredResponse,
};
use forbear_core::work::Stamp;
use futures_util::stream;
use http::Method;
use http_body::Frame;
use http_body_util::StreamBody;

use crate::seeds::play;
use crate::vendor::{Fault, answer, boxed, ok};
use crate::*;

const WHO: [&str; 3] = ["", "Bearer 1", "Bearer 2"];
const LANGUAGES: [&str; 3] = ["", "de", "fr"];

/// Takes up to so many milliseconds for everything, and fails so often of a hundred times, before it does what it is asked for or after.
#[derive(Debug, Clone)]
struct Moody {
    store: MemoryResponses,
    random: Arc<Mutex<Rng>>,
    slow: Arc<AtomicU64>,
    fails: Arc<AtomicU64>,
}

impl Moody {
    fn new(seed: u64) -> Self {
        let random = Arc::new(Mutex::new(Rng::with_seed(seed)));
        Self { store: MemoryResponses::new(100_000), random, slow: Arc::default(), fails: Arc::default() }
    }

    fn is(&self, slow: u64, fails: u64) {
        self.slow.store(slow, Ordering::Relaxed);
        self.fails.store(fails, Ordering::Relaxed);
    }

    fn does<'a, T: Send + 'a>(
        &self,
        work: impl FnOnce(MemoryResponses) -> Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send>>
        + Send
        + 'a,
    ) -> StoreFuture<'a, T> {
        let mut random = self.random.lock().unwrap();
        let slow = self.slow.load(Ordering::Relaxed);
        let [before, after] = [(); 2].map(|()| MS * u32::try_from(random.u64(..=slow)).unwrap());
        let fails = random.u64(..100) < self.fails.load(Ordering::Relaxed);
        let (fails_first, store) = (random.bool(), self.store.clone());
        let failed = || Err(StoreError::new(StoreFault::Unavailable, "do anything"));
        Box::pin(async move {
            tokio::time::sleep(before).await;
            if fails && fails_first {
                return failed();
            }
            let answer = work(store).await;
            tokio::time::sleep(after).await;
            if fails { failed() } else { answer }
        })
    }
}

macro_rules! does {
    ($self:ident.$call:ident($($argument:ident),*)) => {
        $self.does(move |store| Box::pin(async move { store.$call($($argument),*).await }))
    };
}

impl ResponseStore for Moody {
    fn name(&self) -> &'static str {
        "moody"
    }

    fn secret(&self) -> ResponseSecret {
        self.store.secret()
    }

    fn find(&self, key: ResponseKey, now: Stamp) -> StoreFuture<'_, FoundResponses> {
        does!(self.find(key, now))
    }

    fn put(&self, responses: Vec<StoredResponse>, now: Stamp) -> StoreFuture<'_, ()> {
        does!(self.put(responses, now))
    }

    fn remove(&self, keys: Vec<ResponseKey>) -> StoreFuture<'_, ()> {
        does!(self.remove(keys))
    }

    fn purge(&self, what: PurgeResponses) -> StoreFuture<'_, u64> {
        does!(self.purge(what))
    }

    fn kept(&self) -> StoreFuture<'_, KeptResponses> {
        does!(self.kept())
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
struct Asked {
    host: u8,
    path: u8,
    who: usize,
    language: usize,
}

impl Asked {
    fn any(random: &mut Rng) -> Self {
        let (host, path) = (random.u8(..2), random.u8(..4));
        Self { host, path, who: random.usize(..3), language: random.usize(..3) }
    }

    fn url(self) -> String {
        format!("http://{}.test/{}", char::from(b'a' + self.host), self.path)
    }

    fn request(self, method: Method) -> Request<Body> {
        let mut request = get(&self.url());
        *request.method_mut() = method;
        for (name, value) in [("authorization", WHO[self.who]), ("accept-language", LANGUAGES[self.language])]
        {
            if !value.is_empty() {
                request.headers_mut().insert(name, value.parse().unwrap());
            }
        }
        request
    }

    /// What a vendor's answer begins with.
    fn told(self) -> String {
        format!("{} {} {} ", self.url(), WHO[self.who], LANGUAGES[self.language])
    }
}

/// Answers with what was asked, and the number of the attempt. Paths 0 and 1 are fresh for long, 2 is stale at once, 3 cannot be stored for a time.
fn vendor(seed: u64) -> Vendor {
    let (mut number, mut random) = (0, Rng::with_seed(seed));
    Vendor::new(move |request| {
        number += 1;
        if random.u8(..8) == 0 {
            return Ok(answer(503, &[], "down"));
        }
        let of =
            |name: &str| request.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
        let body = format!("{} {} {} ", request.uri(), of("authorization"), of("accept-language"));
        let body = format!("{body} {number} {}", "x".repeat(random.usize(..3_000)));
        let age = match request.uri().path() {
            "/2" => "max-age=0",
            "/3" if random.bool() => "no-store",
            _ => "max-age=100000",
        };
        Ok(ok(&[("cache-control", age), ("vary", "accept-language")], &body))
    })
}

async fn run(seed: u64) {
    let mut random = Rng::with_seed(seed);
    let (vendor, store) = (vendor(seed), Moody::new(seed));
    let begun = || StaleLayer::memory(12_000).store(store.clone()).layer(vendor.clone());
    let mut service = begun();
    // Of which attempt an answer is at least, by URL and caller.
    let mut floors: HashMap<(String, usize), usize> = HashMap::new();
    for step in 0..400 {
        let asked = Asked::any(&mut random);
        match random.u8(..20) {
            0..11 => {
                let floor = floors.get(&(asked.url(), asked.who)).copied().unwrap_or_default();
                let text = text(send(&service, asked.request(Method::GET)).await).await;
                if text != "down" {
                    let told = text.strip_prefix(&asked.told());
                    let told = told.unwrap_or_else(|| unreachable!("{step}: {asked:?} was told {text:.60}"));
                    let number: usize = told.trim_start().split(' ').next().unwrap().parse().unwrap();
                    assert!(number >= floor, "{step}: {asked:?} was told {number}, which is before {floor}");
                }
            }
            11..14 => {
                let floor = vendor.attempts();
                if send(&service, asked.request(Method::POST)).await.status() == 200 {
                    floors.insert((asked.url(), asked.who), floor);
                }
            }
            14 => {
                let floor = vendor.attempts();
                let host = format!("{}.test", char::from(b'a' + asked.host));
                if service.purge(PurgeResponses::Host(host.into())).await.is_ok() {
                    for (path, who) in (0..4).flat_map(|path| (0..3).map(move |who| (path, who))) {
                        floors.insert((Asked { path, ..asked }.url(), who), floor);
                    }
                }
            }
            15 => store.is(0, 0),
            16 => store.is(random.u64(..70), random.u64(..2) * 30),
            17 => {
                if service.stored().await.is_ok() {
                    service = begun();
                }
            }
            _ => tokio::time::sleep(MS * random.u32(..200)).await,
        }
    }
}

/// Without a word.
fn panics() {
    std::panic::resume_unwind(Box::new("on purpose"));
}

/// A vendor whose answers take their time, come in pieces, break off, panic, or are none.
fn wild(seed: u64) -> Vendor {
    let mut random = Rng::with_seed(seed);
    Vendor::new(move |request| {
        if random.u8(..30) == 0 {
            panics();
        }
        match random.u8(..8) {
            0 => return Ok(answer(503, &[], "down")),
            1 => return Err(Fault("no connection")),
            _ => {}
        }
        let of =
            |name: &str| request.headers().get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
        let begins = format!("{} {} {} ", request.uri(), of("authorization"), of("accept-language"));
        let age =
            ["max-age=0", "max-age=1", "max-age=1, stale-while-revalidate=5", "no-store", "max-age=1000"];
        let mut response =
            ok(&[("cache-control", random.choice(age).unwrap()), ("vary", "accept-language")], "");
        let (ends, pieces) = (random.u8(..10), random.u64(1..6));
        let pieces = stream::unfold((0, begins), move |(piece, text)| async move {
            tokio::time::sleep(MS * u32::try_from(piece).unwrap()).await;
            if piece == pieces {
                if ends == 0 {
                    panics();
                }
                return (ends == 1).then(|| (Err(Fault("broke off")), (piece + 1, String::new())));
            }
            let frame = Frame::data(bytes::Bytes::from(text));
            (piece < pieces).then(|| (Ok::<_, Fault>(frame), (piece + 1, "x".repeat(100))))
        });
        *response.body_mut() = boxed(StreamBody::new(pieces));
        Ok(response)
    })
}

/// Whoever goes, fails or panics at whatever moment: nobody is told what is another's, and nothing stays behind.
async fn crowd(seed: u64) {
    let mut random = Rng::with_seed(seed);
    let (vendor, store) = (wild(seed), Moody::new(seed));
    vendor.takes(MS * random.u32(..20));
    let layer = StaleLayer::memory(random.u64(..20_000)).store(store.clone());
    let service = layer
        .budget(SECOND)
        .policy(StalePolicy::new().patience(MS * random.u32(1..50)))
        .layer(vendor.clone());
    let mut tasks = Vec::new();
    for _ in 0..300 {
        let asked = Asked::any(&mut random);
        let (service, kind, reads) = (service.clone(), random.u8(..20), random.u32(..200));
        tasks.push(tokio::spawn(async move {
            match kind {
                0 => drop(service.purge(PurgeResponses::Host("a.test".into())).await),
                1 | 2 => drop(service.oneshot(asked.request(Method::POST)).await),
                3 => drop(service.stored().await),
                _ => {
                    let Ok(response) = service.oneshot(asked.request(Method::GET)).await else { return };
                    if response.status() != 200 {
                        return;
                    }
                    let body = tokio::time::timeout(MS * reads, response.into_body().collect()).await;
                    if let Ok(Ok(body)) = body {
                        let text = String::from_utf8(body.to_bytes().to_vec()).unwrap();
                        assert!(text.starts_with(&asked.told()), "{asked:?} was told {text:.60}");
                    }
                }
            }
        }));
        match random.u8(..12) {
            0 => tokio::time::sleep(MS * random.u32(..100)).await,
            1 => store.is(random.u64(..70), random.u64(..3) * 30),
            2 => random.choice(&mut tasks).unwrap().abort(),
            _ => {}
        }
    }
    for task in tasks {
        if let Err(ended) = task.await
            && let Ok(panic) = ended.try_into_panic()
        {
            assert_eq!(panic.downcast_ref::<&str>().copied(), Some("on purpose"));
        }
    }
    store.is(0, 0);
    tokio::time::sleep(100 * SECOND).await;
    service.stored().await.unwrap();
    let behind = format!("{service:?}");
    for nothing in ["readings: {}", "purges: 0", "flying: Mutex { data: {}", "taken: 0", "is_writing: false"]
    {
        assert!(behind.contains(nothing), "{nothing} is not in {behind}");
    }
    assert_eq!(vendor.in_flight(), 0);
}

#[test]
fn whoever_goes_fails_or_panics_leaves_nothing_behind_and_tells_nobody_what_is_anothers() {
    play(16, crowd);
}

#[test]
fn what_was_changed_or_purged_does_not_come_back_and_nobody_is_told_what_is_anothers() {
    play(24, run);
}
