//! The vendor behind a wiremock server.

use std::sync::Arc;

use bytes::Bytes;
use http::header::HOST;
use wiremock::{Request, Respond, ResponseTemplate};

use crate::attempt::Received;
use crate::engine::Engine;
use crate::{Reply, reply};

/// Answers from a vendor's scripts, limits and outages on a wiremock server, beside mocks of your own. See
/// [`MockVendor::responder`](crate::MockVendor::responder).
#[derive(Debug, Clone)]
pub struct Responder(pub(crate) Arc<Engine>);

impl Respond for Responder {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let host = request.headers.get(HOST).and_then(|value| value.to_str().ok());
        let received = Received {
            method: request.method.clone(),
            // Without a `Host` the request came by HTTP/2 and its `:authority` is in the URL.
            authority: host.map(str::to_owned).or_else(|| Some(request.url.authority().to_owned())),
            path: request.url.path().to_owned(),
            query: request.url.query().map(str::to_owned),
            headers: request.headers.clone(),
            body: Bytes::copy_from_slice(&request.body),
        };
        let reply = self.0.answer_as(received, playable).reply;
        let headers = reply.headers().iter();
        headers.fold(
            ResponseTemplate::new(reply.status())
                .set_body_bytes(reply.payload().to_vec())
                .set_delay(reply.wait()),
            |template, (name, value)| template.append_header(name, value),
        )
    }
}

/// The reply, where a wiremock server can send it.
fn playable(played: Reply) -> Reply {
    let in_pieces = played.pace().is_some() && !played.payload().is_empty();
    let lies = played.claimed_length().is_some_and(|length| length != played.payload().len());
    if played.fault().is_none() && !in_pieces && !lies {
        return played;
    }
    reply(501).header("content-type", "text/plain").body(
        "a wiremock server cannot break a connection, send a body in pieces, or give it a false length; \
         use MockVendor::start for this reply",
    )
}
