//! hyper-util with TLS below the stack: `cargo run --example hyper_tls`.

use forbear_examples::{BoxError, hyper_tls};

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    for seen in hyper_tls::run().await? {
        println!("{seen}");
    }
    Ok(())
}
