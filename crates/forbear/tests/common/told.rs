//! What forbear tells through `tracing`.

use std::cell::RefCell;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, Once};

use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// Collects events as `LEVEL message key=value …`.
#[derive(Clone, Default)]
pub(crate) struct Told(Arc<Mutex<Vec<String>>>);

thread_local! {
    /// Who listens on this thread.
    static TOLD: RefCell<Option<Told>> = const { RefCell::new(None) };
}

impl Told {
    /// Listens on this thread, to the end of its test.
    pub(crate) fn listen(&self) {
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

    pub(crate) fn take(&self) -> Vec<String> {
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
