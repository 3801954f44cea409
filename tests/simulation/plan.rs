//! What a number stands for: vendors with their limits, lies and outages, and callers with their budgets and whims.

use std::time::Duration;

use fastrand::Rng;
use forbear_mock::{Limiter, MockVendor, Reply, Script, cycle, reply};

use super::{MS, SECOND};

/// One family and its vendor.
pub(crate) struct Family {
    pub(crate) host: &'static str,
    /// `None` for a host that nobody registered.
    pub(crate) settings: Option<Settings>,
    pub(crate) vendor: MockVendor,
}

/// What its gate is told.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) ladder: Vec<Duration>,
    pub(crate) max_advertised: Duration,
    pub(crate) attempt_timeout: Duration,
    pub(crate) recheck: Option<Duration>,
    pub(crate) max_waiters: usize,
}

/// One call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) number: usize,
    pub(crate) family: usize,
    pub(crate) path: &'static str,
    pub(crate) after: Duration,
    pub(crate) budget: Option<Duration>,
    pub(crate) attempts: Option<u32>,
    pub(crate) grace: Duration,
    pub(crate) no_wait: bool,
    pub(crate) background: bool,
    pub(crate) post: bool,
    /// When its caller goes away.
    pub(crate) leaves: Option<Duration>,
    /// How long it holds the answer before it reads the body.
    pub(crate) holds: Duration,
}

/// All outages are over then: they count from a vendor's first attempt, which comes within 30 s or at the end.
pub(crate) const LONGEST_OUTAGE: Duration = Duration::from_secs(24 * 60 * 60);

/// The delay where a vendor gives a date.
pub(crate) const DATED: Duration = Duration::from_secs(20);

const PATHS: [&str; 2] = ["/a", "/b"];

fn one_in(n: u8, rng: &mut Rng) -> bool {
    rng.u8(0..n) == 0
}

fn span(rng: &mut Rng, millis: std::ops::Range<u64>) -> Duration {
    Duration::from_millis(rng.u64(millis))
}

pub(crate) fn families(rng: &mut Rng) -> Vec<Family> {
    let hosts = ["one.test", "two.test"];
    let count = if one_in(3, rng) { 2 } else { 1 };
    let families = hosts.into_iter().take(count).map(|host| Family {
        host,
        settings: (!one_in(4, rng)).then(|| settings(rng)),
        vendor: vendor(rng),
    });
    families.collect()
}

fn settings(rng: &mut Rng) -> Settings {
    let mut rung = span(rng, 100..5_000);
    let mut ladder = vec![rung];
    while ladder.len() < 7 && !one_in(3, rng) {
        rung += span(rng, 0..20_000);
        ladder.push(rung);
    }
    Settings {
        ladder,
        max_advertised: if one_in(3, rng) {
            span(rng, 500..60_000)
        } else {
            Duration::from_secs(24 * 60 * 60)
        },
        // A lease of an hour is seen where it is not given back.
        attempt_timeout: if one_in(3, rng) { 3600 * SECOND } else { span(rng, 100..30_000) },
        recheck: one_in(6, rng).then(|| span(rng, 200..10_000)),
        max_waiters: if one_in(6, rng) { rng.usize(1..5) } else { 10_000 },
    }
}

fn vendor(rng: &mut Rng) -> MockVendor {
    let mut vendor = MockVendor::in_process().script(service(rng));
    for _ in 0..rng.usize(0..3) {
        let limiter = match rng.u8(0..4) {
            0 => Limiter::token_bucket(rng.u32(1..20), span(rng, 200..10_000), rng.u32(1..10)),
            1 => Limiter::fixed_window(rng.u32(1..20), span(rng, 200..20_000)),
            2 => Limiter::sliding_window(rng.u32(1..20), span(rng, 200..20_000)),
            _ => Limiter::concurrency(rng.u32(1..6)),
        };
        let limiter = if one_in(4, rng) { limiter.on(PATHS[0]) } else { limiter };
        vendor = vendor.limit(refusing(limiter, rng));
    }
    if one_in(2, rng) {
        let from = span(rng, 0..20_000);
        vendor = vendor.outage_between(from, from + span(rng, 1..60_000), outage(rng));
    }
    vendor
}

/// How a limiter refuses: as it is, a little wrong, or not saying when.
fn refusing(limiter: Limiter, rng: &mut Rng) -> Limiter {
    let (delay, late) = (span(rng, 0..100), span(rng, 0..5_000));
    match rng.u8(0..6) {
        0 | 1 => limiter,
        2 => limiter.refusal(reply(429).delay(delay)),
        3 => limiter.refusal_with(move |wait| {
            let reply = reply(503).retry_after_wait(wait.max(MS)).delay(delay);
            reply.json_text(r#"{"reason":"inflight_limit"}"#).slow_body(7, 20 * MS)
        }),
        // It lets nobody in when it said it would.
        4 => limiter.refusal_with(move |wait| {
            reply(429).header("retry-after-ms", (wait / 3).as_millis().to_string()).delay(delay)
        }),
        _ => limiter.refusal_with(move |wait| reply(429).retry_after_wait(wait + late).delay(delay)),
    }
}

fn service(rng: &mut Rng) -> Script {
    let mut replies: Vec<_> = (0..rng.usize(1..6))
        .map(|_| {
            let reply = match rng.u8(0..12) {
                0 => reply(404),
                1 => reply(500),
                2 => reply(503),
                3 => reply(200).reset(),
                4 => reply(200).body("cut off").close_in_body(3),
                5 => reply(429).retry_after(rng.u64(0..4)),
                6 => reply(200).retry_after(3600).body("information"),
                _ => reply(200).body("an answer"),
            };
            reply.delay(span(rng, 0..400)).times(rng.usize(1..20))
        })
        .collect();
    if one_in(8, rng) {
        replies.push(reply(200).delay(span(rng, 1_000..60_000)));
    }
    cycle(replies)
}

/// What the vendor says while it is in trouble.
fn outage(rng: &mut Rng) -> Script {
    let replies: Vec<_> = (0..rng.usize(1..4)).map(|_| trouble(rng).delay(span(rng, 0..300))).collect();
    cycle(replies)
}

fn trouble(rng: &mut Rng) -> Reply {
    let seconds = rng.u64(0..30);
    match rng.u8(0..12) {
        0 => reply(500),
        1 => reply(503),
        2 => reply(529),
        3 => reply(200).reset(),
        4 => reply(503).retry_after(seconds),
        5 => reply(429).retry_after(seconds).json_text(r#"{"reason":"quota"}"#).slow_body(3, 50 * MS),
        6 => reply(429).retry_after(seconds * 1_000),
        7 => reply(429).retry_after_text("99999999999999999999999999999999"),
        8 => reply(429).retry_after_text("soon"),
        9 => reply(429).retry_after(0),
        10 => reply(429)
            .header("date", "Sun, 06 Nov 1994 08:49:37 GMT")
            .retry_after_text("Sun, 06 Nov 1994 08:49:57 GMT"),
        _ => reply(429).retry_after(seconds).body(vec![b'x'; 40_000]).slow_body(4_000, 10 * MS),
    }
}

pub(crate) fn calls(rng: &mut Rng, families: usize) -> Vec<Call> {
    let rush = span(rng, 1..20_000);
    let (patient, hasty) = (one_in(2, rng), one_in(3, rng));
    (0..rng.usize(1..20))
        .map(|number| Call {
            number,
            family: rng.usize(0..families),
            path: PATHS[rng.usize(0..PATHS.len())],
            after: if one_in(2, rng) { rush.mul_f64(rng.f64()) } else { span(rng, 0..30_000) },
            budget: (!one_in(5, rng))
                .then(|| if patient { span(rng, 1..300_000) } else { span(rng, 0..30_000) }),
            attempts: one_in(6, rng).then(|| rng.u32(1..6)),
            grace: if one_in(6, rng) { span(rng, 0..2_000) } else { Duration::ZERO },
            no_wait: one_in(5, rng),
            background: one_in(5, rng),
            post: one_in(4, rng),
            leaves: (hasty && one_in(2, rng)).then(|| span(rng, 0..20_000)),
            holds: if one_in(5, rng) { span(rng, 0..3_000) } else { Duration::ZERO },
        })
        .collect()
}

impl Settings {
    /// What a host is given that nobody registered.
    pub(crate) fn automatic() -> Self {
        Self {
            ladder: [5, 10, 20, 40, 80, 160, 300].map(Duration::from_secs).to_vec(),
            max_advertised: Duration::from_secs(24 * 60 * 60),
            attempt_timeout: 30 * SECOND,
            recheck: None,
            max_waiters: 10_000,
        }
    }
}
