//! The same scenarios through the real layers: `forbear::stack` around a vendor inside the process, on tokio's paused
//! clock.
//!
//! Every call asks for one URL, so that what `RetryAfterLayer` remembers of it is in play too. Timers of tokio are whole
//! milliseconds, and so are the answer times here. A run has a seed, and still differs a little from the last: the gate
//! counts attempts by the tenth of a second of the process's clock, which begins anywhere.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use fastrand::Rng;
use forbear::body::Replay;
use forbear::{Families, Family};
use forbear_core::time::Monotonic;
use http::{Request, Response, StatusCode};
use http_body_util::Empty;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use super::figures::Run;
use super::oracle::oracle;
use super::scenario::{Scenario, gap};
use super::vendor::{Answer, Healthy, Vendor};
use super::{OUT, SECOND, START};

const HOST: &str = "vendor.test";
const HEALTHY: &str = "healthy.test";

type Body = Empty<Bytes>;

/// What the vendors' side of one run shares.
struct Wire {
    vendor: Box<dyn Vendor>,
    rng: Rng,
    back: Duration,
    begun: Instant,
    run: Run,
}

/// Runs `scenario` to its end, against a registered family.
pub(crate) fn run(scenario: &Scenario, seed: u64) -> Run {
    let registered = Families::builder().family(Family::new(HOST).host(HOST));
    start(scenario, seed, registered.build().unwrap())
}

/// The same where nobody registered the host: its family is made by its first signal, and knows of no attempt before.
pub(crate) fn run_automatic(scenario: &Scenario, seed: u64) -> Run {
    start(scenario, seed, Families::builder().build().unwrap())
}

fn start(scenario: &Scenario, seed: u64, families: Families) -> Run {
    // The layers draw their jitter from the thread's generator.
    fastrand::seed(seed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(play(scenario, Rng::with_seed(seed), families))
}

async fn play(scenario: &Scenario, mut rng: Rng, families: Families) -> Run {
    assert_eq!(scenario.replicas, 1, "one process is played here");
    let entries = scenario.load.entries(&mut rng);
    let run = Run { recovered: scenario.recovered, oracle: oracle(scenario, &entries), ..Run::default() };
    let entries = with_healthy(&entries, &mut rng);
    let wire = Wire { vendor: (scenario.vendor)(), rng, back: scenario.back, begun: Instant::now(), run };
    let begun = wire.begun;
    let wire = Arc::new(Mutex::new(wire));
    let client = {
        let wire = Arc::clone(&wire);
        tower::service_fn(move |request| attempt(Arc::clone(&wire), request))
    };
    let vendor = forbear::stack(&families).budget(scenario.deadline).service(client);

    let watch = tokio::spawn(watch(families, Arc::clone(&wire)));
    let mut calls = JoinSet::new();
    for (entered, healthy) in entries {
        sleep_until(begun + entered.since(START)).await;
        let (vendor, wire) = (vendor.clone(), Arc::clone(&wire));
        calls.spawn(async move {
            let entered = wire.lock().unwrap().now();
            let host = if healthy { HEALTHY } else { HOST };
            let request = Request::get(format!("http://{host}/")).body(Body::new()).unwrap();
            let served = vendor.send(request).await.is_ok_and(|answer| answer.status().is_success());
            let mut wire = wire.lock().unwrap();
            let now = wire.now();
            wire.run.over(healthy, served, now.since(entered), now);
            if !healthy {
                wire.run.ended.push((entered, served));
            }
        });
    }
    while let Some(ended) = calls.join_next().await {
        ended.unwrap();
    }
    watch.abort();
    std::mem::take(&mut wire.lock().unwrap().run)
}

/// The entries, and whether each is one of the calls to the healthy family: one for nine to the vendor.
fn with_healthy(entries: &[Monotonic], rng: &mut Rng) -> Vec<(Monotonic, bool)> {
    let mut all: Vec<_> = entries.iter().map(|at| (*at, false)).collect();
    if let (Some(first), Some(last)) = (entries.first(), entries.last()) {
        let span = last.since(*first).max(SECOND);
        let rate = entries.len() as f64 / 9.0 / span.as_secs_f64();
        let mut at = first.after(gap(rate, rng));
        while at < first.after(span) {
            all.push((at, true));
            at = at.after(gap(rate, rng));
        }
    }
    all.sort();
    all
}

/// One attempt on its way out and back.
async fn attempt(
    wire: Arc<Mutex<Wire>>,
    request: Request<Replay<Body>>,
) -> Result<Response<Body>, Infallible> {
    sleep(OUT).await;
    let (answer, back) = wire.lock().unwrap().arrive(request.uri().host() == Some(HEALTHY));
    sleep(back).await;
    let mut response = Response::new(Body::new());
    if let Answer::Limited(hint) = answer {
        *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
        if let Some(hint) = hint {
            response.headers_mut().insert("retry-after", hint.as_secs().into());
        }
    }
    Ok(response)
}

impl Wire {
    fn now(&self) -> Monotonic {
        START.after(self.begun.elapsed())
    }

    fn arrive(&mut self, healthy: bool) -> (Answer, Duration) {
        let now = self.now();
        let answer = if healthy {
            Healthy.answer(now)
        } else {
            self.run.attempts.push(now);
            self.vendor.answer(now)
        };
        let back = match answer {
            Answer::Good => {
                let back = if healthy { OUT } else { self.back };
                back.saturating_sub(Duration::from_millis(10)) + Duration::from_millis(self.rng.u64(0..=20))
            }
            Answer::Limited(_) => {
                self.run.limited += 1;
                Duration::from_millis(self.rng.u64(0..=10))
            }
        };
        (answer, back)
    }
}

/// Notes strikes and recoveries to the second, and that the healthy family has none.
async fn watch(families: Families, wire: Arc<Mutex<Wire>>) {
    let mut seen = 0;
    loop {
        sleep(SECOND).await;
        let health = families.health();
        let told = |name| health.family(name).map_or(0, |family| family.strikes + family.recoveries);
        assert_eq!(told(HEALTHY), 0, "the healthy family is touched");
        let mut wire = wire.lock().unwrap();
        let now = wire.now();
        for _ in seen..told(HOST) {
            wire.run.transitions.push(now);
        }
        seen = told(HOST);
    }
}
