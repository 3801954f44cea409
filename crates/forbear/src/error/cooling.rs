use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use forbear_core::gate::{Gate, Operator, Refusal, RefusalCause};
use forbear_core::health::Short;
use forbear_core::signal::{Reason, Signal};
use forbear_core::time::Monotonic;
use forbear_core::url::RedactedUrl;
use tokio::time::Instant;

use crate::clock;

/// A request that was not sent, because its family cools (or a vendor asked for time on this URL).
#[derive(Clone)]
pub struct Cooling(Box<Inner>);

#[derive(Clone)]
struct Inner {
    family: Arc<str>,
    partition: Option<Box<str>>,
    cause: RefusalCause,
    retry_at: Option<Monotonic>,
    reason: Reason,
    signal: Option<Signal>,
    route: Option<Box<str>>,
    operator: Option<Operator>,
    url: Option<RedactedUrl>,
    wait: Option<Wait>,
}

/// What a caller that may wait needs to do so.
#[derive(Clone)]
pub(crate) struct Wait {
    pub(crate) gate: Arc<Gate>,
    pub(crate) refused_at: Monotonic,
}

const SHUTTING_DOWN: &str = "shutting-down";

impl Cooling {
    /// A gate's refusal; without a URL where what it refuses is not HTTP.
    pub(crate) fn gate(gate: &Arc<Gate>, refusal: &Refusal, url: Option<RedactedUrl>) -> Self {
        let wait = refusal.waitable.then(|| Wait { gate: Arc::clone(gate), refused_at: refusal.at });
        let struck = refusal.strike.as_deref().filter(|_| refusal.operator.is_none());
        let reason = match refusal.cause {
            RefusalCause::Paused => Reason::from_static("paused"),
            RefusalCause::Crowded => Reason::from_static("too-many-waiting"),
            RefusalCause::ShuttingDown => Reason::from_static(SHUTTING_DOWN),
            _ if refusal.operator.is_some() => Reason::from_static("operator"),
            _ => struck.map_or(Reason::from_static("recovering"), |struck| struck.signal.reason.clone()),
        };
        Self(Box::new(Inner {
            family: Arc::clone(gate.name()),
            // Who waits for a part of a paused family is told by the part; it is the whole that is paused.
            partition: gate
                .partition_label()
                .filter(|_| refusal.cause != RefusalCause::Paused)
                .map(Into::into),
            cause: refusal.cause,
            retry_at: refusal.retry_at,
            reason,
            signal: struck.map(|struck| struck.signal.clone()),
            route: struck.map(|struck| struck.route.clone()).filter(|route| !route.is_empty()),
            operator: refusal.operator.as_ref().map(|acted| acted.by.clone()),
            url,
            wait,
        }))
    }

    /// The URL has a deadline that its vendor asked for, recorded by an earlier logical request.
    pub(crate) fn recorded(retry_at: Monotonic, url: RedactedUrl, family: Arc<str>) -> Self {
        Self(Box::new(Inner {
            family,
            partition: None,
            cause: RefusalCause::Cooling,
            retry_at: Some(retry_at),
            reason: Reason::from_static("retry-after"),
            signal: None,
            route: None,
            operator: None,
            url: Some(url),
            wait: None,
        }))
    }

    pub(crate) fn known_retry_at(&self) -> Option<Monotonic> {
        self.0.retry_at
    }

    pub(crate) fn shared_family(&self) -> Arc<str> {
        Arc::clone(&self.0.family)
    }

    pub(crate) fn wait(&self) -> Option<&Wait> {
        self.0.wait.as_ref()
    }

    /// The same refusal, with what its wait ended with.
    pub(crate) fn again(mut self, gate: &Arc<Gate>, refusal: &Refusal) -> Self {
        if self.0.wait.is_some() {
            return Self::gate(gate, refusal, self.0.url);
        }
        // A recorded deadline, which the gate that it was waited for at knows nothing of.
        self.0.cause = refusal.cause;
        if refusal.cause == RefusalCause::ShuttingDown {
            self.0.reason = Reason::from_static(SHUTTING_DOWN);
        }
        self
    }

    /// The family that is not called. A deadline recorded for a URL without a family has the URL's host here.
    #[must_use]
    pub fn family(&self) -> &str {
        &self.0.family
    }

    /// The part of the family that is not called, as health names it; `None` where it is the whole.
    #[must_use]
    pub fn partition(&self) -> Option<&str> {
        self.0.partition.as_deref()
    }

    /// Why it is not called now.
    #[must_use]
    pub fn cause(&self) -> RefusalCause {
        self.0.cause
    }

    /// When it may be called again; `None` where nobody knows (it is paused, or too many wait).
    #[must_use]
    pub fn retry_at(&self) -> Option<Instant> {
        self.0.retry_at.map(clock::to_instant)
    }

    /// How long from now until it may be called again, zero where that has passed; `None` where nobody knows.
    #[must_use]
    pub fn retry_in(&self) -> Option<Duration> {
        self.0.retry_at.map(|at| at.since(clock::now()))
    }

    /// The vendor's reason code, or `paused`, `operator`, `too-many-waiting`, `recovering`, `retry-after`,
    /// `shutting-down`.
    #[must_use]
    pub fn reason(&self) -> &Reason {
        &self.0.reason
    }

    /// The signal that closed the family, with the full hint; `None` where [`RetryAfterLayer`](crate::RetryAfterLayer)
    /// refuses by itself, because of a deadline that it recorded for this URL.
    #[must_use]
    pub fn signal(&self) -> Option<&Signal> {
        self.0.signal.as_ref()
    }

    /// The operator who paused the family, or closed it for so long; `None` where its vendor did.
    #[must_use]
    pub fn operator(&self) -> Option<&Operator> {
        self.0.operator.as_ref()
    }

    /// The path, without query, of the request that met the signal; `None` where what met it has no name.
    #[must_use]
    pub fn route(&self) -> Option<&str> {
        self.0.route.as_deref()
    }

    /// The URL that was refused, without userinfo, query and fragment; `None` where it is not HTTP, see
    /// [`Families::gate`](crate::Families::gate).
    #[must_use]
    pub fn url(&self) -> Option<&RedactedUrl> {
        self.0.url.as_ref()
    }
}

impl fmt::Display for Cooling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As health names it.
        let part = self.0.partition.as_ref().map_or(String::new(), |part| format!("/{part}"));
        let family = format_args!("{}{part}", self.0.family);
        match (self.0.cause, self.retry_in()) {
            (RefusalCause::Paused, _) => match &self.0.operator {
                Some(operator) => write!(f, "{family} is paused by {operator}; resume it to send"),
                None => write!(f, "{family} is paused by an operator; resume it to send"),
            },
            (RefusalCause::Crowded, _) => {
                write!(f, "too many callers wait for {family}; try later, or send fewer")
            }
            (RefusalCause::ShuttingDown, Some(left)) => {
                write!(f, "{family} is not waited for: this process shuts down; retry in {}", Short(left))
            }
            (RefusalCause::ShuttingDown, None) => {
                write!(f, "{family} is not waited for: this process shuts down")
            }
            (RefusalCause::TooLate, _) => {
                write!(f, "{family} is called again, but too little of the budget is left")
            }
            (_, Some(left)) => write!(f, "{family} is cooling, retry in {}", Short(left)),
            (_, None) => write!(f, "{family} is cooling"),
        }?;
        if let Some(signal) = &self.0.signal {
            match &self.0.route {
                Some(route) => write!(f, " ({signal} via {route})")?,
                None => write!(f, " ({signal})")?,
            }
        } else {
            match self.0.operator.as_ref().filter(|_| self.0.cause != RefusalCause::Paused) {
                Some(operator) => write!(f, " (by {operator})")?,
                None => write!(f, " ({})", self.0.reason)?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Cooling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cooling")
            .field("family", &self.0.family)
            .field("partition", &self.0.partition)
            .field("cause", &self.0.cause)
            .field("retry_in", &self.retry_in())
            .field("reason", &self.0.reason)
            .field("url", &self.0.url)
            .finish_non_exhaustive()
    }
}

impl std::error::Error for Cooling {}
