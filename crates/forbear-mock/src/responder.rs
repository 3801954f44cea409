//! The vendor behind a wiremock server.

use std::sync::Arc;

use bytes::Bytes;
use http::header::HOST;
use wiremock::{Request, Respond, ResponseTemplate};

use crate::attempt::Received;
use crate::engine::Engine;

/// Answers from a vendor's scripts, limits and outages on a wiremock server, beside mocks of your own. See
/// [`MockVendor::responder`](crate::MockVendor::responder).
#[derive(Debug, Clone)]
pub struct Responder(pub(crate) Arc<Engine>);

impl Respond for Responder {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let host = request.headers.get(HOST).and_then(|value| value.to_str().ok());
        let answer = self.0.answer(Received {
            method: request.method.clone(),
            // Without a `Host` the request came by HTTP/2 and its `:authority` is in the URL.
            authority: host.map(str::to_owned).or_else(|| Some(request.url.authority().to_owned())),
            path: request.url.path().to_owned(),
            query: request.url.query().map(str::to_owned),
            headers: request.headers.clone(),
            body: Bytes::copy_from_slice(&request.body),
        });
        let reply = answer.reply;
        if reply.fault().is_some() {
            let why = "a wiremock server cannot break a connection; use MockVendor::start for this reply";
            return ResponseTemplate::new(501).set_body_string(why);
        }
        let headers = reply.headers().iter();
        headers.fold(
            ResponseTemplate::new(reply.status())
                .set_body_bytes(reply.payload().to_vec())
                .set_delay(reply.wait()),
            |template, (name, value)| template.append_header(name, value),
        )
    }
}
