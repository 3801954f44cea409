//! A caching proxy: `cargo run --example cache_proxy` plays a scene; with two addresses, where to listen and what lies behind, such as
//! `cargo run --example cache_proxy -- 127.0.0.1:8080 127.0.0.1:8000`, it serves until it is ended.

use forbear_examples::{BoxError, cache_proxy};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), BoxError> {
    let mut arguments = std::env::args().skip(1);
    if let (Some(here), Some(behind)) = (arguments.next(), arguments.next()) {
        let listener = TcpListener::bind(here).await?;
        return Ok(cache_proxy::serve(listener, cache_proxy::Proxy::new(behind.parse()?)).await?);
    }
    for passed in cache_proxy::run().await? {
        println!("{passed}");
    }
    Ok(())
}
