//! reqwest with the stack around it: `cargo run --example reqwest_client`.

use forbear_examples::{BoxError, reqwest_client};

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    for seen in reqwest_client::run().await? {
        println!("{seen}");
    }
    Ok(())
}
