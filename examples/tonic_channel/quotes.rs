//! What `tonic-build` would make of this, by hand:
//!
//! ```proto
//! service Quotes {
//!   rpc Get(Ask) returns (Quote);
//!   rpc Watch(stream Ask) returns (stream Quote);
//! }
//! ```

use http::Uri;
use http::uri::PathAndQuery;
use tonic::body::Body;
use tonic::client::{Grpc, GrpcService};
use tonic::{IntoStreamingRequest, Response, Status, Streaming};
use tonic_prost::ProstCodec;

/// Which quote.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Ask {
    /// Such as `acme`.
    #[prost(string, tag = "1")]
    pub symbol: String,
}

impl Ask {
    /// For that symbol.
    #[must_use]
    pub fn of(symbol: &str) -> Self {
        Self { symbol: symbol.to_owned() }
    }
}

/// A quote.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub struct Quote {
    /// Such as `acme`.
    #[prost(string, tag = "1")]
    pub symbol: String,
    /// In cents.
    #[prost(uint64, tag = "2")]
    pub price: u64,
}

/// The client.
#[derive(Clone, Debug)]
pub struct Quotes<T> {
    grpc: Grpc<T>,
}

impl<T> Quotes<T>
where
    T: GrpcService<Body>,
    T::Error: Into<Status>,
    T::ResponseBody: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    <T::ResponseBody as http_body::Body>::Error: Into<crate::BoxError> + Send,
{
    /// Sends to `origin`, through `service`.
    pub fn with_origin(service: T, origin: Uri) -> Self {
        Self { grpc: Grpc::with_origin(service, origin) }
    }

    /// One quote.
    ///
    /// # Errors
    /// What the server, the channel or the stack says.
    pub async fn get(&mut self, ask: impl tonic::IntoRequest<Ask>) -> Result<Response<Quote>, Status> {
        self.grpc.ready().await.map_err(Into::into)?;
        let path = PathAndQuery::from_static("/quotes.Quotes/Get");
        self.grpc.unary(ask.into_request(), path, ProstCodec::default()).await
    }

    /// A quote for each that is asked for, as long as it is asked.
    ///
    /// # Errors
    /// The same.
    pub async fn watch(
        &mut self,
        asks: impl IntoStreamingRequest<Message = Ask>,
    ) -> Result<Response<Streaming<Quote>>, Status> {
        self.grpc.ready().await.map_err(Into::into)?;
        let path = PathAndQuery::from_static("/quotes.Quotes/Watch");
        self.grpc.streaming(asks.into_streaming_request(), path, ProstCodec::default()).await
    }
}
