//! An axum server whose handlers call a vendor: `cargo run --example axum_outbound`.

use forbear_examples::{BoxError, axum_outbound};

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    for seen in axum_outbound::run().await? {
        println!("{seen}");
    }
    Ok(())
}
