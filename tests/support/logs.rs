//! What forbear logs, caught in the thread of a test.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, Once, PoisonError};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::{Layer, Registry};

/// One event.
#[derive(Debug, Clone)]
pub struct Logged {
    /// Its level.
    pub level: Level,
    /// The names of its fields, `message` and those without a value among them.
    pub declared: Vec<&'static str>,
    /// Its fields, `message` among them, as they print.
    pub fields: BTreeMap<&'static str, String>,
}

/// The events of forbear in the present thread, until it is dropped. For runtimes of one thread.
#[derive(Debug)]
pub struct Logs {
    events: Sink,
}

type Sink = Arc<Mutex<Vec<Logged>>>;

thread_local! {
    static SINK: RefCell<Option<Sink>> = const { RefCell::new(None) };
}

impl Logs {
    /// Begins to catch.
    #[must_use]
    pub fn catch() -> Self {
        // One subscriber for the process: with one per thread, tracing may remember from a thread that has none that
        // nobody is interested in an event.
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            if tracing::subscriber::set_global_default(Registry::default().with(Catch)).is_ok() {
                tracing::callsite::rebuild_interest_cache();
            }
        });
        let events = Sink::default();
        SINK.set(Some(Arc::clone(&events)));
        Self { events }
    }

    /// All events so far.
    #[must_use]
    pub fn all(&self) -> Vec<Logged> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The events of one level so far.
    #[must_use]
    pub fn at(&self, level: Level) -> Vec<Logged> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.iter().filter(|event| event.level == level).cloned().collect()
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        let mine = |sink: &Option<Sink>| sink.as_ref().is_some_and(|sink| Arc::ptr_eq(sink, &self.events));
        if SINK.with_borrow(mine) {
            SINK.set(None);
        }
    }
}

impl Logged {
    /// A field as it prints; empty where it is not there.
    #[must_use]
    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).map_or("", String::as_str)
    }

    /// A field that is a number.
    ///
    /// # Panics
    ///
    /// When it is not there, or none.
    #[track_caller]
    #[must_use]
    pub fn number(&self, name: &str) -> u64 {
        self.field(name).parse().unwrap_or_else(|_| panic!("no number {name} in {self:?}"))
    }
}

struct Catch;

impl<S: Subscriber> Layer<S> for Catch {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if !event.metadata().target().starts_with("forbear") {
            return;
        }
        let mut fields = Fields(BTreeMap::new());
        event.record(&mut fields);
        let declared = event.metadata().fields().iter().map(|field| field.name()).collect();
        let logged = Logged { level: *event.metadata().level(), declared, fields: fields.0 };
        let _ = SINK.try_with(|sink| {
            if let Some(sink) = &*sink.borrow() {
                sink.lock().unwrap_or_else(PoisonError::into_inner).push(logged);
            }
        });
    }
}

struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}
