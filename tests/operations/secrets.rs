//! A secret of a request, an answer or a client's error is in nothing that forbear shows.
//!
//! `http4s/http4s#6597`, CVE-2024-6104, `zeroclaw-labs/zeroclaw#9813`, `PNRxA/openposterdb#64`: URLs with a password or an
//! API key were logged, once per attempt; and an HTTP client's error holds the URL in its `Display` and its `Debug`.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use forbear::body::Replay;
use forbear::{EffectiveUri, Error, Families, Family, NoWait, Operator, Partition, StaleLayer, Unknown};
use forbear_core::store::{MemoryResponses, ResponseStore};
use forbear_tests::logs::Logs;
use http::{HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::{BodyExt, Full};
use tower::service_fn;

use crate::scrape::Exporter;

const SECOND: Duration = Duration::from_secs(1);
/// In every place that is not to be shown.
const CANARY: &str = "CANARY7f3a";

type Body = Full<Bytes>;

/// What a client does with the next attempt: answers, is silent, or fails with a text that holds the URL.
#[derive(Debug, Clone, Copy)]
enum Next {
    Answer(u16, Option<&'static str>),
    /// As a client does that follows redirects itself.
    Redirected,
    Silence,
    Fails,
}

async fn client(request: Request<Replay<Body>>, next: Next) -> Result<Response<Body>, io::Error> {
    let (status, retry_after) = match next {
        Next::Answer(status, retry_after) => (status, retry_after),
        Next::Redirected => (429, Some("300")),
        Next::Silence => std::future::pending().await,
        Next::Fails => {
            return Err(io::Error::other(format!("cannot connect to {} ({CANARY})", request.uri())));
        }
    };
    let body = format!(r#"{{"reason":"too_fast","message":"{CANARY}"}}"#);
    let mut response = Response::builder()
        .status(status)
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::SET_COOKIE, format!("id={CANARY}"))
        .header(header::LOCATION, format!("https://u:{CANARY}@quotes.test/?k={CANARY}"))
        .header("x-request-id", CANARY)
        .body(Full::from(body))
        .unwrap();
    if let Some(retry_after) = retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static(retry_after));
    }
    if matches!(next, Next::Redirected) {
        let effective = format!("https://u:{CANARY}@elsewhere.test/moved?k={CANARY}").parse::<Uri>().unwrap();
        response.extensions_mut().insert(EffectiveUri(effective));
    }
    Ok(response)
}

/// A request to `host`, with the canary wherever it may stand; `path` is shown, and holds none.
fn request(host: &str, path: &str, relative: bool) -> Request<Body> {
    let target = format!("{path}?api_key={CANARY}&token={CANARY}");
    let request = Request::builder().method(Method::POST);
    let mut request = if relative {
        request.uri(target).header(header::HOST, format!("u:{CANARY}@{host}"))
    } else {
        request.uri(format!("https://user:{CANARY}@{host}{target}#{CANARY}"))
    };
    for name in [header::AUTHORIZATION, header::PROXY_AUTHORIZATION, header::COOKIE, header::REFERER] {
        request = request.header(name, format!("Bearer {CANARY}"));
    }
    let request = request.header("x-api-key", CANARY).header("idempotency-key", CANARY);
    let mut request = request.body(Full::from(CANARY)).unwrap();
    request.extensions_mut().insert(CANARY);
    if relative {
        request.extensions_mut().insert(Partition::of(CANARY));
    }
    request
}

/// All that is shown, and of which kind it was.
#[derive(Default)]
struct Sink {
    shown: Vec<String>,
    kinds: BTreeSet<&'static str>,
}

impl Sink {
    fn show(&mut self, kind: &'static str, text: impl Into<String>) {
        self.kinds.insert(kind);
        self.shown.push(text.into());
    }

    fn debug(&mut self, kind: &'static str, thing: &impl Debug) {
        self.show(kind, format!("{thing:?}"));
        self.show(kind, format!("{thing:#?}"));
    }

    fn error(&mut self, error: &Error) {
        let kind = match error {
            Error::Cooling(_) => "cooling",
            Error::BudgetExhausted(_) => "budget exhausted",
            Error::UnknownFamily(_) => "unknown family",
            _ => "client",
        };
        self.show(kind, error.to_string());
        self.debug(kind, error);
        // What the client itself says is the caller's, who asks for it.
        let sources = std::iter::successors(std::error::Error::source(error), |error| error.source());
        for source in sources.filter(|source| source.is::<Error>()) {
            self.show("source", format!("{source} {source:?}"));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_is_in_no_event_error_health_or_metric_whatever_fails() {
    let logs = Logs::catch();
    let sink = Arc::new(Mutex::new(Sink::default()));
    for unknown in [Unknown::PerHost, Unknown::Refuse] {
        let families = Families::builder()
            .family(Family::new("quotes").host("quotes.test"))
            .family(
                Family::new("news").host("news.test").partition_by_header("authorization").per_partition(),
            )
            .unknown(unknown)
            .build()
            .unwrap();
        let heard = Arc::clone(&sink);
        families.on_signal(move |strike| heard.lock().unwrap().debug("listener", strike));
        let next = Arc::new(Mutex::new(Next::Answer(200, None)));
        let play = |act| *next.lock().unwrap() = act;
        let played = Arc::clone(&next);
        let vendor = forbear::stack(&families).budget(20 * SECOND).service(service_fn(move |request| {
            let next = *played.lock().unwrap();
            client(request, next)
        }));
        let acts = [
            Next::Fails,
            Next::Silence,
            Next::Answer(200, None),
            Next::Redirected,
            Next::Answer(429, Some("2")),
            Next::Answer(503, Some("300")),
            Next::Answer(429, None),
        ];
        for act in acts {
            play(act);
            for host in ["quotes.test", "news.test", "h1.test:8443"] {
                for (path, relative, patient) in
                    [("/a", false, true), ("/a", true, false), ("/b", false, true), ("/c", true, true)]
                {
                    let mut request = request(host, path, relative);
                    if !patient {
                        request.extensions_mut().insert(NoWait);
                    }
                    let answer = vendor.send(request).await;
                    let mut sink = sink.lock().unwrap();
                    match answer {
                        Ok(response) => {
                            if let Some(signal) = response.extensions().get::<forbear::Signal>() {
                                sink.debug("signal", signal);
                            }
                            response.extensions().get::<EffectiveUri>().inspect(|uri| sink.debug("uri", uri));
                        }
                        Err(error) => sink.error(&error),
                    }
                }
            }
            show(&families, &mut sink.lock().unwrap());
            tokio::time::sleep(400 * SECOND).await;
        }
        families.pause("quotes", Operator::new("alice", "why not")).unwrap();
        let paused = vendor.send(request("quotes.test", "/a", false)).await.unwrap_err();
        sink.lock().unwrap().error(&paused);
        show(&families, &mut sink.lock().unwrap());
    }
    let mut sink = sink.lock().unwrap();
    for event in logs.all() {
        sink.debug("event", &event);
    }
    let expected = [
        "budget exhausted",
        "client",
        "cooling",
        "event",
        "families",
        "health",
        "json",
        "listener",
        "metrics",
        "signal",
        "unknown family",
        "uri",
    ];
    assert!(expected.iter().all(|kind| sink.kinds.contains(kind)), "{:?}", sink.kinds);
    let leaked: Vec<_> = sink.shown.iter().filter(|text| text.contains(CANARY)).collect();
    assert!(leaked.is_empty(), "{} of {} show it, such as {}", leaked.len(), sink.shown.len(), leaked[0]);
    // The search finds what is there.
    assert!(sink.shown.iter().any(|text| text.contains("/a")), "paths are shown");
    assert!(sink.shown.iter().any(|text| text.contains("h1.test:8443")), "and hosts");
}

/// What an operator may look at.
fn show(families: &Families, sink: &mut Sink) {
    let health = families.health();
    sink.show("health", health.to_string());
    sink.debug("health", &health);
    sink.show("json", serde_json::to_string(&health).unwrap());
    sink.debug("families", families);
    sink.show("metrics", Exporter::new().scrape(&families.metrics()).text);
}

#[tokio::test(start_paused = true)]
async fn what_is_stored_and_of_whom_is_in_nothing_that_is_shown() {
    let logs = Logs::catch();
    let mut sink = Sink::default();
    let families = Families::builder().family(Family::new("quotes").host("quotes.test")).build().unwrap();
    let store = MemoryResponses::new(1 << 20);
    let down = Arc::new(AtomicBool::new(false));
    let is_down = Arc::clone(&down);
    let client = service_fn(move |request: Request<Replay<Body>>| {
        let down = is_down.load(Ordering::Relaxed);
        async move {
            if down {
                return Err(io::Error::other(format!("cannot connect to {} ({CANARY})", request.uri())));
            }
            let mut response = Response::new(Full::<Bytes>::from(CANARY));
            for (name, value) in [
                (header::CACHE_CONTROL, "max-age=5".to_owned()),
                (header::VARY, "x-tenant".to_owned()),
                (header::ETAG, format!("\"{CANARY}\"")),
                (header::SET_COOKIE, format!("id={CANARY}")),
                (header::LOCATION, format!("https://u:{CANARY}@quotes.test/?k={CANARY}")),
            ] {
                response.headers_mut().insert(name, value.parse().unwrap());
            }
            Ok(response)
        }
    });
    let layer = StaleLayer::memory(1 << 20).store(store.clone());
    for goes_down in [false, true] {
        // The second has what the first stored.
        let vendor = forbear::stack(&families).stale(layer.clone()).service(client.clone());
        down.store(goes_down, Ordering::Relaxed);
        for path in ["/a", "/b"] {
            for relative in [false, true] {
                let mut request = request("quotes.test", path, relative);
                *request.method_mut() = Method::GET;
                *request.body_mut() = Full::default();
                for name in ["x-tenant", "x-vault-token"] {
                    request.headers_mut().insert(name, CANARY.parse().unwrap());
                }
                let asks = vendor.send(request);
                match asks.await {
                    Ok(response) => {
                        sink.debug("body", response.body());
                        sink.debug("served", response.extensions().get::<forbear::stale::Served>().unwrap());
                        let _ = response.into_body().collect().await.unwrap();
                    }
                    Err(error) => sink.error(&error),
                }
            }
        }
        let absent = vendor.send(
            Request::get(format!("http://u:{CANARY}@other.test/{goes_down}?{CANARY}"))
                .body(Full::default())
                .unwrap(),
        );
        if let Err(error) = absent.await {
            sink.error(&error);
        }
        vendor.stored().await.unwrap();
        tokio::time::sleep(10 * SECOND).await;
        sink.debug("service", &vendor);
        show(&families, &mut sink);
    }
    assert!(ResponseStore::kept(&store).await.unwrap().responses >= 2);
    sink.debug("layer", &layer);
    sink.debug("store", &store);
    for event in logs.all() {
        sink.debug("event", &event);
    }
    let expected = ["body", "client", "families", "health", "layer", "metrics", "served", "service", "store"];
    assert!(expected.iter().all(|kind| sink.kinds.contains(kind)), "{:?}", sink.kinds);
    let leaked: Vec<_> = sink.shown.iter().filter(|text| text.contains(CANARY)).collect();
    assert!(leaked.is_empty(), "{} of {} show it, such as {}", leaked.len(), sink.shown.len(), leaked[0]);
}
