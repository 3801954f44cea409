//! Things that are kept fresh while one of their vendors has had enough: `cargo run --example refresh`.

use forbear_examples::{BoxError, refresh};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let told = refresh::run().await?;
    for seen in &told.seen {
        print!("{seen}");
    }
    println!(
        "{} attempts on the vendor of quotes, {} refused, {} counted",
        told.attempts, told.refused, told.failures
    );
    Ok(())
}
