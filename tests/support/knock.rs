//! A caller that never waits and asks again all the time.

use std::time::Duration;

use forbear::Error;
use forbear_mock::MockVendor;

use crate::client::{WireVendor, get_now};

/// Calls `mock` through `vendor` every 10 ms, each time on another route and without waiting, until it answers
/// something: the status.
///
/// # Panics
///
/// When it is never called within a minute, or something else than a cool-down is in the way.
pub async fn knock(vendor: &WireVendor, mock: &MockVendor) -> u16 {
    let knocking = async {
        for knock in 0_u32.. {
            let url = mock.url(&format!("/{}/{knock}", mock.attempts().len()));
            match vendor.send(get_now(url)).await {
                Ok(response) => return response.status().as_u16(),
                Err(Error::Cooling(_)) => tokio::time::sleep(Duration::from_millis(10)).await,
                Err(other) => panic!("{other:?}"),
            }
        }
        unreachable!("the knocks never end")
    };
    tokio::time::timeout(Duration::from_secs(60), knocking).await.expect("refused for a minute")
}
