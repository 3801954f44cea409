//! A queue of jobs whose vendor says 429: `cargo run --example apalis_worker`.

use forbear_examples::{BoxError, apalis_worker};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    for done in apalis_worker::run().await? {
        println!("{done}");
    }
    Ok(())
}
