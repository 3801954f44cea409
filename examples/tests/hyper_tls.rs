//! A discarded small 429 does not cost the connection; a large one costs HTTP/1 one, and HTTP/2 a stream.

use std::time::Duration;

use bytes::Bytes;
use forbear::{Error, Families};
use forbear_examples::hyper_tls::{self, Cost, Server};
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Empty, Full};

#[tokio::test]
async fn connections_are_used_again() {
    let (large, small) = (16 << 20, 40_000);
    let cost = |version, discarded, connections| Cost { version, discarded, connections };
    assert_eq!(
        hyper_tls::run().await.unwrap(),
        [
            cost(Version::HTTP_11, small, 1),
            cost(Version::HTTP_11, large, 2),
            cost(Version::HTTP_2, small, 1),
            cost(Version::HTTP_2, large, 1),
        ]
    );
}

#[tokio::test]
async fn whom_the_platform_does_not_trust_is_not_sent_to() {
    let server =
        Server::start(&["h2"], |_| Response::new(Full::from("served").boxed_unsync())).await.unwrap();
    let families = Families::builder().build().unwrap();
    let vendor = hyper_tls::platform::<Empty<Bytes>>(&families, Duration::from_secs(10)).unwrap();
    let request = Request::get(server.url("/chart")).body(Empty::new()).unwrap();
    assert!(matches!(vendor.send(request).await, Err(Error::Client(_))));
    assert_eq!(server.connections(), 0);
}
