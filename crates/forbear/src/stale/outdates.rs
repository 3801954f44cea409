//! What a change makes old.

use std::sync::Arc;

use http::header::{CONTENT_LOCATION, HOST, LOCATION};
use http::uri::Authority;
use http::{HeaderMap, HeaderName, Request, Response, Uri};

use super::key::Key;
use super::shared::Shared;

/// What an answer makes old, of whom.
pub(super) struct Outdates {
    shared: Arc<Shared>,
    uri: Uri,
    headers: HeaderMap,
    key: Key,
}

impl Outdates {
    /// Of a request that may change something.
    pub(super) fn of_request<B>(request: &Request<B>, shared: &Arc<Shared>) -> Option<Self> {
        if request.method().is_safe() {
            return None;
        }
        let (uri, headers) = (request.uri().clone(), request.headers().clone());
        let key = shared.keys.of_request(&uri, &headers, request.extensions());
        Some(Self { shared: Arc::clone(shared), uri, headers, key })
    }

    /// A change that succeeded makes old what is stored for its URL, and for those that the answer names of the same host; RFC 9111 section
    /// 4.4.
    pub(super) fn outdate<RB>(&self, response: &Response<RB>) {
        if response.status().is_client_error() || response.status().is_server_error() {
            return;
        }
        self.forget(self.key);
        for name in [LOCATION, CONTENT_LOCATION] {
            if let Some(uri) = self.beside(response.headers(), &name) {
                self.forget(self.shared.keys.at(&uri, &self.headers, self.key));
            }
        }
    }

    fn forget(&self, key: Key) {
        // What is on its way from before is not stored after this.
        self.shared.flights.outdate(key);
        self.shared.store.remove(key);
    }

    /// The URL in this field, where it is of the same host.
    fn beside(&self, headers: &HeaderMap, name: &HeaderName) -> Option<Uri> {
        let uri: Uri = headers.get(name)?.to_str().ok()?.parse().ok()?;
        match uri.authority() {
            Some(authority) if !self.is_of(authority) => None,
            // In the form of a request that names its host in a field.
            Some(_) if self.uri.authority().is_some() => Some(uri),
            _ => {
                let mut parts = self.uri.clone().into_parts();
                parts.path_and_query = uri.into_parts().path_and_query;
                Uri::from_parts(parts).ok()
            }
        }
    }

    /// Whether it is the host that was asked, whoever asks by the URL.
    fn is_of(&self, authority: &Authority) -> bool {
        let named = self.headers.get(HOST).and_then(|host| host.to_str().ok());
        let asked = self.uri.authority().map(Authority::as_str).or(named);
        let host = |text: &str| text.rsplit('@').next().unwrap_or_default().to_ascii_lowercase();
        asked.is_some_and(|asked| host(asked) == host(authority.as_str()))
    }
}
