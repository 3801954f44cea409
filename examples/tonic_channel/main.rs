//! gRPC calls through the stack: `cargo run --example tonic_channel`.

use forbear_examples::{BoxError, tonic_channel};

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    for call in tonic_channel::run().await? {
        println!("{call}");
    }
    Ok(())
}
