//! The program of the example for tests, once, by hand: `cargo run --example testing`.
//!
//! Its tests are the example: `cargo test -p forbear-examples --test testing`.

use std::time::Duration;

use forbear::{Families, Family};
use forbear_examples::{BoxError, testing::Prices};
use forbear_mock::{MockVendor, reply};
use tokio::time::sleep;

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), BoxError> {
    let vendor = MockVendor::in_process().script([reply(429).retry_after(300), reply(200).body("7.25")]);
    let families = Families::builder().family(Family::new("prices").host(vendor.authority())).build()?;
    let prices = Prices::new(&families, vendor.service(), vendor.uri());
    for _ in 0..3 {
        match prices.of("acme").await {
            Ok(price) => println!("acme costs {price}"),
            Err(unavailable) => println!("acme: {unavailable}"),
        }
        sleep(Duration::from_secs(150)).await;
    }
    Ok(())
}
