//! What an operator is told: one WARN per strike, one INFO per recovery.

use std::cell::RefCell;
use std::fmt::Debug;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, Once};

use futures_util::FutureExt;
use tokio::time::sleep;
use tower::ServiceExt;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

use crate::common::{Client, MS, SECOND, answer, get, limited, panics_in_call};
use crate::{URL, families, service};

/// Collects events as `LEVEL message key=value …`.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

thread_local! {
    /// Who listens on this thread.
    static TOLD: RefCell<Option<Told>> = const { RefCell::new(None) };
}

impl Told {
    /// Listens on this thread, to the end of its test.
    fn listen(&self) {
        // One subscriber for the process: with one per thread, tracing may remember from a thread that has none that
        // nobody is interested in an event.
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            if tracing::subscriber::set_global_default(tracing_subscriber::registry().with(Tell)).is_ok() {
                tracing::callsite::rebuild_interest_cache();
            }
        });
        TOLD.set(Some(self.clone()));
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Tells each event to who listens on its thread.
struct Tell;

struct Line(String);

impl Visit for Line {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = if field.name() == "message" {
            format!(" {value:?}")
        } else {
            format!(" {}={value:?}", field.name())
        };
        self.0.push_str(&text);
    }
}

impl<S: tracing::Subscriber> Layer<S> for Tell {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target().starts_with("forbear") {
            let mut line = Line(event.metadata().level().to_string());
            event.record(&mut line);
            TOLD.with_borrow(|told| {
                if let Some(told) = told {
                    told.0.lock().unwrap().push(line.0);
                }
            });
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_warning_per_strike_and_one_notice_per_recovery() {
    let told = Told::default();
    told.listen();
    let (families, client) = (families(), Client::new([limited(429, 5).delay(MS)]));
    let calls =
        (0..10).map(|_| service(&families, client.clone()).oneshot(get("http://vendor.test/a?key=1")));
    let _ = futures_util::future::join_all(calls).await;
    let _ = service(&families, client.clone()).oneshot(get(URL)).await;
    let lines = told.take();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("WARN family cools"), "{lines:?}");
    for part in [
        "family=vendor",
        "reason=retry-after",
        "class=throttled",
        "status=429",
        "delay_ms=5000",
        "advertised_ms=5000",
        "level=1",
        "blind=",
        "route=/a",
    ] {
        assert!(lines[0].contains(&format!(" {part}")), "{part} in {lines:?}");
    }
    assert!(!lines[0].contains("key"), "{lines:?}");
    sleep(5 * SECOND).await;
    client.play([answer(200)]);
    for _ in 0..3 {
        let _ = service(&families, client.clone()).oneshot(get(URL)).await;
        sleep(SECOND).await;
    }
    let lines = told.take();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("INFO family recovers family=vendor"), "{lines:?}");
}

/// An attempt that panicked in `call` was not accepted: the strike after it is still blind.
#[tokio::test(start_paused = true)]
async fn a_panic_in_call_is_not_taken_for_an_accepted_attempt() {
    let told = Told::default();
    told.listen();
    let (families, client) = (families(), Client::new([panics_in_call(), limited(429, 5)]));
    let call = AssertUnwindSafe(service(&families, client.clone()).oneshot(get(URL)));
    assert!(call.catch_unwind().await.is_err());
    sleep(SECOND).await;
    let _ = service(&families, client).oneshot(get(URL)).await.unwrap();
    let lines = told.take();
    assert!(lines[0].contains("blind=true"), "{lines:?}");
}
