//! Forty prices, one 429, and nothing lost: `cargo run --example sweep`.

use forbear_examples::{BoxError, sweep};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let played = sweep::run().await?;
    for row in &played.rows {
        println!("{row}");
    }
    println!("{}\n{}", played.summary, played.health);
    Ok(())
}
