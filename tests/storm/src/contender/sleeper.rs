//! Each call sleeps as it was told, up to a tenth longer, and sends again, up to five attempts; where it was told nothing,
//! it sleeps 250 ms, doubled each time up to 8 s.

use std::rc::Rc;
use std::time::Duration;

use http::Request;
use tokio::time::{sleep, timeout};
use tower::ServiceExt;

use super::{Body, Client, World, is_limited, retry_after};
use crate::wire::Wire;

const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(8);
const ATTEMPTS: u32 = 5;

pub(super) fn client(world: &World) -> Client {
    let (wire, deadline) = (world.wire.clone(), world.deadline);
    Rc::new(move |_, request| {
        let wire = wire.clone();
        Box::pin(async move { timeout(deadline, until_served(wire, request)).await.unwrap_or(false) })
    })
}

async fn until_served(wire: Wire, request: Request<Body>) -> bool {
    let mut own = FIRST;
    for _ in 0..ATTEMPTS {
        match wire.clone().oneshot(request.clone()).await {
            Ok(answer) if is_limited(&answer) => {
                let wait = retry_after(&answer).unwrap_or(own);
                own = (own * 2).min(LONGEST);
                sleep(wait.mul_f64(1.0 + 0.1 * fastrand::f64())).await;
            }
            answer => return answer.is_ok_and(|answer| answer.status().is_success()),
        }
    }
    false
}
