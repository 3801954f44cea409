//! An answer of the engine as the server sends it.

use std::io;
use std::sync::Arc;

use http::{Request, Response, Version};
use hyper::body::Incoming;

use super::io::{Ending, HalfClose};
use crate::MockBody;
use crate::engine::Engine;
use crate::fault::Fault;
use crate::receive::receive;

/// An error ends the connection (HTTP/1) or the stream (HTTP/2).
pub(crate) async fn answer(
    engine: Arc<Engine>,
    ending: Arc<Ending>,
    request: Request<Incoming>,
) -> io::Result<Response<MockBody>> {
    if ending.is_half_closed() {
        // Sent ahead of the answer that was the last one.
        return std::future::pending().await;
    }
    let one_stream = request.version() <= Version::HTTP_11;
    let answer = receive(&engine, request).await;
    let fault = answer.reply.fault();
    if fault == Some(Fault::Reset) {
        ending.reset();
    }
    let response = answer.into_response()?.map(MockBody::flushed);
    if fault == Some(Fault::HalfClose) && one_stream {
        return Ok(response.map(|body| body.half_close(HalfClose(ending))));
    }
    Ok(response)
}
