//! A small reverse proxy: `cargo run --example gateway_stack`.

use forbear_examples::{BoxError, gateway_stack};

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    for passed in gateway_stack::run().await? {
        println!("{passed}");
    }
    Ok(())
}
