//! A vendor on loopback says 429. Follow what its callers see: `cargo run --example quickstart`.

use std::process::ExitCode;

use forbear_examples::quickstart;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, quickstart::BoxError> {
    let summary = quickstart::run(&mut std::io::stdout().lock()).await?;
    let broken = summary.broken_promises();
    for promise in &broken {
        eprintln!("not kept: {promise}");
    }
    Ok(if broken.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
