//! Which family a request belongs to, seen through the gate.

mod automatic;
mod changes;
mod configuration;
mod matching;
mod operator;
mod shutdown;
mod watch;

#[path = "../common/mod.rs"]
mod common;

use forbear::{Error, Families, FamilyCooldownLayer, Signal};
use http::Request;
use tower::{Layer, ServiceExt};

use common::{Client, Sent, limited};

/// The family that a limited answer to `request` is charged to; `None` where it is charged to nobody.
async fn charged(families: &Families, request: Request<Sent>) -> Option<String> {
    let client = Client::new([limited(429, 60)]);
    match FamilyCooldownLayer::new(families.clone()).layer(client).oneshot(request).await {
        Ok(answer) => answer.extensions().get::<Signal>()?.family().map(str::to_owned),
        Err(Error::Cooling(cooling)) => Some(cooling.family().to_owned()),
        Err(_) => Some("refused".to_owned()),
    }
}
