//! A command line tool and HTTP routes of one vendor behind one gate: `cargo run --example cli_gate`.

use forbear_examples::{BoxError, cli_gate};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    for row in cli_gate::run().await? {
        println!("{row}");
    }
    Ok(())
}
