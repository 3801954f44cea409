//! What an error is as a gRPC status.

use std::sync::Arc;
use std::time::Duration;

use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use crate::Error;

/// A status that holds the error as its source, or the one that tonic makes of an error of the channel.
pub(super) fn status(error: Error) -> Status {
    let code = match &error {
        Error::Cooling(_) | Error::Pacing(_) | Error::NotStored(_) => Code::Unavailable,
        Error::BudgetExhausted(_) => Code::DeadlineExceeded,
        Error::UnknownFamily(_) => Code::FailedPrecondition,
        Error::Client(_) => Code::Unknown,
    };
    let error = match error {
        Error::Client(inner) => return Status::from_error(inner),
        ours => ours,
    };
    let mut metadata = MetadataMap::new();
    let retry_in = match &error {
        Error::Cooling(cooling) => cooling.retry_in(),
        Error::Pacing(pacing) => pacing.retry_in(),
        _ => None,
    };
    if let Some(left) = retry_in {
        metadata.insert("grpc-retry-pushback-ms", whole_millis(left).into());
    }
    let mut status = Status::with_metadata(code, error.to_string(), metadata);
    status.set_source(Arc::new(error));
    status
}

/// Rounded up: nobody is told to come back too early.
fn whole_millis(left: Duration) -> i64 {
    let millis = left.saturating_add(Duration::from_nanos(999_999)).as_millis();
    i64::try_from(millis).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UnknownFamily;

    #[test]
    fn ours_is_the_source_and_the_channels_own_status_stays() {
        let ours = status(UnknownFamily::of_name("x").into());
        assert_eq!(ours.code(), Code::FailedPrecondition);
        assert!(matches!(Error::find(&ours), Some(Error::UnknownFamily(_))));
        let theirs = status(Error::from_inner(Status::aborted("again")));
        assert_eq!((theirs.code(), theirs.message()), (Code::Aborted, "again"));
    }

    #[test]
    fn a_part_of_a_millisecond_counts_as_one() {
        assert_eq!(whole_millis(Duration::from_nanos(1)), 1);
        assert_eq!(whole_millis(Duration::from_millis(7)), 7);
        assert_eq!(whole_millis(Duration::MAX), i64::MAX);
    }
}
