//! What an operator sees of a wait.

use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};

use forbear::{Families, Family};
use forbear_core::health::HealthPhase;
use forbear_mock::{MockVendor, reply};
use tracing_subscriber::fmt::MakeWriter;

use crate::support::{SECOND, get, settle, stacked};

/// A log that a test reads.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// The one of this process: a test that captured only its own thread would race with the others' callsites.
    fn global() -> &'static Self {
        static LOG: OnceLock<Log> = OnceLock::new();
        LOG.get_or_init(|| {
            let log = Self::default();
            let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).with_ansi(false).finish();
            tracing::subscriber::set_global_default(subscriber).unwrap();
            log
        })
    }

    /// What was said about `family`.
    fn lines(&self, level: &str, family: &str) -> Vec<String> {
        let log = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let family = format!("family=\"{family}\"");
        let wanted = log.lines().filter(|line| line.contains(level) && line.contains(&family));
        wanted.map(str::to_owned).collect()
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

// psf/requests#6809: a wait of a day was shown nowhere.
#[tokio::test(start_paused = true)]
async fn a_long_wait_is_told_once_and_shown_until_it_ends() {
    let log = Log::global();
    let mock = MockVendor::in_process().script([reply(503).retry_after(86_400), reply(200)]);
    let family = Family::new("parked").host("vendor.test");
    let families = Families::builder().family(family).build().unwrap();
    let vendor = stacked(&families, 3 * 86_400 * SECOND, &mock);
    let waits = tokio::spawn(async move { vendor.send(get("/v8/chart?symbol=X")).await.unwrap().status() });
    settle().await;
    tokio::time::sleep(3600 * SECOND).await;

    let warnings = log.lines("WARN", "parked");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    for part in ["reason=\"service-unavailable\"", "delay_ms=86400000", "status=503", "level=1"] {
        assert!(warnings[0].contains(part), "{part} in {}", warnings[0]);
    }
    assert!(warnings[0].contains("/v8/chart") && !warnings[0].contains("symbol"), "{}", warnings[0]);
    assert_eq!(
        families.health().to_string(),
        "parked  cooling 23h00m  503 service-unavailable  via /v8/chart  1 waiting"
    );
    let health = families.health();
    let family = health.family("parked").unwrap();
    assert_eq!((family.phase, family.waiting), (HealthPhase::Cooling, 1));

    assert_eq!(waits.await.unwrap(), 200);
    let (warnings, news) = (log.lines("WARN", "parked"), log.lines("INFO", "parked"));
    assert_eq!((warnings.len(), news.len()), (1, 1), "{news:?}");
    assert!(news[0].contains("closed_ms=86400"), "{}", news[0]);
}
