//! The vendor on a loopback socket.

use std::sync::Arc;

use bytes::Bytes;
use http::header::HOST;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use crate::Reply;
use crate::attempt::Received;
use crate::engine::Engine;

/// Starts a server that answers from the engine.
///
/// Not one of wiremock's pooled servers: those keep their port and connections for the next test, and a client
/// left over from this one could call it.
pub(crate) async fn serve(engine: Arc<Engine>) -> MockServer {
    let server = MockServer::builder().disable_request_recording().start().await;
    Mock::given(any()).respond_with(Answers(engine)).mount(&server).await;
    server
}

struct Answers(Arc<Engine>);

impl Respond for Answers {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let reply = self.0.answer(received(request));
        template(&reply)
    }
}

fn received(request: &Request) -> Received {
    let host = request.headers.get(HOST).and_then(|value| value.to_str().ok());
    Received {
        method: request.method.clone(),
        // Without a `Host` the request came by HTTP/2 and its `:authority` is in the URL.
        authority: host.map(str::to_owned).or_else(|| Some(request.url.authority().to_owned())),
        path: request.url.path().to_owned(),
        query: request.url.query().map(str::to_owned),
        headers: request.headers.clone(),
        body: Bytes::copy_from_slice(&request.body),
    }
}

fn template(reply: &Reply) -> ResponseTemplate {
    let mut template = ResponseTemplate::new(reply.status())
        .set_body_bytes(reply.payload().to_vec())
        .set_delay(reply.wait());
    for (name, value) in reply.headers() {
        template = template.append_header(name, value);
    }
    template
}
