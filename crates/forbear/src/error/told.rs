//! What a server tells its own callers of an error: the one place where a new kind of error gets its answer.

use std::time::Duration;

use http::StatusCode;

use super::Error;

impl Error {
    /// The status for a server's own caller.
    ///
    /// | error | status |
    /// |---|---|
    /// | [`Cooling`](Error::Cooling), [`Pacing`](Error::Pacing), any other refusal | `503` |
    /// | [`BudgetExhausted`](Error::BudgetExhausted) where the vendor said when it is called again, or the process shuts down | `503` |
    /// | [`BudgetExhausted`](Error::BudgetExhausted) otherwise | `504` |
    /// | [`UnknownFamily`](Error::UnknownFamily): this server's configuration, which no waiting cures | `500` |
    /// | [`Client`](Error::Client) | `502` |
    #[must_use]
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Client(_) => StatusCode::BAD_GATEWAY,
            Self::UnknownFamily(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::BudgetExhausted(exhausted) if exhausted.comes_back() => StatusCode::SERVICE_UNAVAILABLE,
            Self::BudgetExhausted(_) => StatusCode::GATEWAY_TIMEOUT,
            // A refusal of any kind.
            _ => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// How long from now until it is worth trying again, zero where that has passed; `None` where nobody knows.
    #[must_use]
    pub fn retry_in(&self) -> Option<Duration> {
        match self {
            Self::Cooling(cooling) => cooling.retry_in(),
            Self::Pacing(refused) => refused.retry_in(),
            Self::BudgetExhausted(exhausted) => exhausted.retry_in(),
            Self::UnknownFamily(_) | Self::NotStored(_) | Self::Client(_) => None,
        }
    }

    /// The family that is not called; `None` where the error is of no family, or of one that is not known.
    #[must_use]
    pub fn family(&self) -> Option<&str> {
        match self {
            Self::Cooling(cooling) => Some(cooling.family()),
            Self::Pacing(refused) => Some(refused.family()),
            Self::BudgetExhausted(exhausted) => exhausted.family(),
            Self::NotStored(missing) => Some(missing.family()),
            Self::UnknownFamily(_) | Self::Client(_) => None,
        }
    }

    /// A short code: the vendor's reason, as of [`Cooling::reason`](super::Cooling::reason) and
    /// [`BudgetExhausted::reason`](super::BudgetExhausted::reason), that of [`PacingRefused`](super::PacingRefused::reason), else `unknown-family`, `not-stored` or `client-failed`.
    #[must_use]
    pub fn reason(&self) -> &str {
        match self {
            Self::Cooling(cooling) => cooling.reason().as_str(),
            Self::Pacing(refused) => refused.reason(),
            Self::BudgetExhausted(exhausted) => exhausted.reason(),
            Self::UnknownFamily(_) => "unknown-family",
            Self::NotStored(_) => "not-stored",
            Self::Client(_) => "client-failed",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use forbear_core::signal::{Class, Reason, Signal};

    use super::super::{BudgetExhausted, Spent, UnknownFamily};
    use super::*;

    fn exhausted(what: Spent) -> Error {
        Error::BudgetExhausted(BudgetExhausted::new(what, Duration::from_secs(3), 1, None))
    }

    #[test]
    fn a_budget_that_is_gone_is_a_timeout_unless_the_process_goes() {
        let told = |what| {
            let error = exhausted(what);
            (error.status().as_u16(), error.reason().to_owned(), error.retry_in(), error.family().is_some())
        };
        assert_eq!(told(Spent::Time), (504, "deadline".to_owned(), None, false));
        assert_eq!(told(Spent::Attempts), (504, "attempts".to_owned(), None, false));
        assert_eq!(told(Spent::NextWait), (504, "next-wait".to_owned(), None, false));
        assert_eq!(told(Spent::ShuttingDown), (503, "shutting-down".to_owned(), None, false));
    }

    #[test]
    fn what_the_vendor_said_last_is_the_reason() {
        let last = Signal::new(Class::Throttled, StatusCode::TOO_MANY_REQUESTS)
            .reason(Reason::from_static("inflight_limit"));
        let spent = BudgetExhausted::new(Spent::Time, Duration::from_secs(3), 2, Some(Arc::new(last)));
        let error = Error::BudgetExhausted(spent);
        assert_eq!((error.status().as_u16(), error.reason()), (504, "inflight_limit"));
    }

    #[test]
    fn what_no_waiting_cures_is_no_503() {
        let unknown = Error::UnknownFamily(UnknownFamily::of_name("x"));
        assert_eq!((unknown.status().as_u16(), unknown.reason()), (500, "unknown-family"));
        let client = Error::from_inner("reset");
        assert_eq!((client.status().as_u16(), client.reason()), (502, "client-failed"));
        assert_eq!((unknown.retry_in(), client.retry_in()), (None, None));
    }
}
