use std::task::{Context, Poll};

use http::header::{IF_MODIFIED_SINCE, IF_NONE_MATCH};
use http::{Method, Request, Response};
use http_body::Body;
use tower_service::Service;

use super::body::StaleBody;
use super::future::StaleFuture;
use super::service::StaleService;
use crate::Error;
use crate::body::BoxError;

/// Fetches anew, whatever is stored, and stores what comes: for work in the background. See [`StaleService::filling`].
#[derive(Debug, Clone)]
pub struct FillService<S>(StaleService<S>);

impl<S> StaleService<S> {
    /// The same store, filled: a GET through this is always answered by the vendor, never by what is stored; what the vendor
    /// answers is stored, and the next who ask for it here are served from memory. For a
    /// [`Refresh`](crate::refresh::Refresh), so that requests are answered from what is there:
    ///
    /// ```
    /// # use std::time::Duration;
    /// use forbear::{Families, Family, MemoryWorkStore, Refresh, Source, StaleLayer, stale::Served};
    /// use http::Request;
    /// # use forbear_mock::{MockVendor, reply};
    /// # use http_body_util::BodyExt;
    /// # type Body = http_body_util::Empty<bytes::Bytes>;
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// # let mock = MockVendor::in_process().script(reply(200).header("cache-control", "max-age=1800"));
    /// # let (client, origin) = (mock.service(), "http://quotes.test");
    /// let families = Families::builder().family(Family::new("quotes").host("quotes.test")).build()?;
    /// let vendor = forbear::stack(&families).stale(StaleLayer::memory(64 << 20)).service(client);
    /// let request = move |key: &str| Request::get(format!("{origin}/{key}")).body(Body::new());
    ///
    /// let quotes = Source::new("quotes")
    ///     .family("quotes")
    ///     .every(Duration::from_secs(15 * 60))
    ///     .fetch(move |key| request(key.as_str()))
    ///     .store(|_, _| async { Ok::<_, std::io::Error>(()) }); // it is in the store of answers already
    /// let refresh = Refresh::over(&families, vendor.filling(), MemoryWorkStore::new()).source(quotes).build()?;
    /// refresh.demand("quotes", ["AAPL"]).await?;
    /// # let stop = tokio::time::sleep(Duration::from_secs(1));
    /// refresh.run(stop).await;
    ///
    /// let response = vendor.send(request("AAPL")?).await?;
    /// assert_eq!(response.extensions().get(), Some(&Served::Fresh));
    /// # assert_eq!(mock.attempts().len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// The request must be the one that others make: what is stored is apart by URL, credentials and what `Vary` names. Where something is stored that can be
    /// confirmed, it asks for no more than that, and a `304` is answered with what is stored. Where somebody asks the vendor for the same
    /// already, that one attempt does for both. A limited answer, a fault and a refusal come as they are, never an old answer or a
    /// fallback in their place; the old answer stays stored.
    #[must_use]
    pub fn filling(&self) -> FillService<S>
    where
        S: Clone,
    {
        FillService(self.clone())
    }
}

impl<S, B, RB> Service<Request<B>> for FillService<S>
where
    S: Service<Request<B>, Response = Response<RB>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError>,
    B: Body + Send + 'static,
    RB: Body + Send + 'static,
    RB::Data: Send,
    RB::Error: Into<BoxError>,
{
    type Response = Response<StaleBody<RB>>;
    type Error = Error;
    type Future = StaleFuture<S, B, RB>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        if request.method() == Method::GET {
            // What is confirmed is what is stored here, whatever the caller has.
            request.headers_mut().remove(IF_NONE_MATCH);
            request.headers_mut().remove(IF_MODIFIED_SINCE);
        }
        self.0.fill(request)
    }
}
