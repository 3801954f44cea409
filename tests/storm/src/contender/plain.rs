//! One attempt, as soon as it is wanted; and one at the right time.

use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use forbear_core::time::Monotonic;
use tokio::time::{sleep, sleep_until};
use tower::ServiceExt;

use super::{Client, World, around};
use crate::OUT;
use crate::model::{Answer, Vendor};
use crate::oracle::LOOK;
use crate::wire::HEALTHY;

/// One attempt.
pub(super) fn nothing(world: &World) -> Client {
    around(world.wire.clone(), world.deadline)
}

/// One attempt that arrives as scheduled, or none. In a sweep, when a call begins depends on the one before it: there the
/// oracle looks what is known of the vendor.
pub(super) fn oracle(world: &World) -> Client {
    let (wire, schedule) = (world.wire.clone(), world.schedule.clone());
    let vendor = Arc::new(Mutex::new((world.vendor)()));
    let healthy = nothing(world);
    Rc::new(move |call, request| {
        if request.uri().host() == Some(HEALTHY) {
            return healthy(call, request);
        }
        let scheduled = schedule.as_ref().map(|arrivals| arrivals.get(call).copied().flatten());
        let (wire, vendor) = (wire.clone(), Arc::clone(&vendor));
        Box::pin(async move {
            match scheduled {
                Some(Some(arrival)) => sleep_until(wire.instant(arrival) - OUT).await,
                Some(None) => return false,
                None => {
                    while !would_serve(&vendor, wire.now().after(OUT)) {
                        sleep(LOOK).await;
                    }
                }
            }
            wire.oneshot(request).await.is_ok_and(|answer| answer.status().is_success())
        })
    })
}

/// Whether an attempt that arrives at `arrival` would be served; then it counts as made.
fn would_serve(vendor: &Mutex<Box<dyn Vendor>>, arrival: Monotonic) -> bool {
    let mut vendor = vendor.lock().unwrap_or_else(PoisonError::into_inner);
    vendor.free(arrival) && vendor.answer(arrival) == Answer::Good
}
