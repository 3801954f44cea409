//! forbear's layers beside other people's: `cargo run --example compose`.

use forbear_examples::{BoxError, compose};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    for row in compose::run().await? {
        println!("{row}");
    }
    Ok(())
}
