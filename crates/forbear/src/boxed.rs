//! A vendor whose client's type nobody has to name.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use crate::body::{BoxError, Peeked, Replay};
use crate::{Error, Paced, Stack};

/// A client with the layers around it, in a box: for requests with the body `B`, with answers whose body is `RB`. Made by
/// [`Stack::boxed`], or of any service that has forbear's error. Clones share what the service's clones share.
///
/// For a struct that holds a vendor whose client is made of closures, or in tests of another type than in the program:
///
/// ```
/// use std::time::Duration;
///
/// use bytes::Bytes;
/// use forbear::{BoxVendor, Families, Paced, body::Peeked};
/// use http_body_util::Empty;
/// use hyper::body::Incoming;
/// use hyper_util::{client::legacy::Client, rt::TokioExecutor};
///
/// #[derive(Clone)]
/// struct Quotes {
///     vendor: BoxVendor<Empty<Bytes>, Paced<Peeked<Incoming>>>,
/// }
///
/// let families = Families::builder().build()?;
/// let client = Client::builder(TokioExecutor::new()).build_http();
/// let quotes = Quotes { vendor: forbear::stack(&families).budget(Duration::from_secs(30)).boxed(client) };
/// # let _ = quotes;
/// # Ok::<(), forbear::InvalidFamilies>(())
/// ```
///
/// **Cost.** Two allocations a call: the clone that is called, and its future. **Cancellation.** Dropping the future cancels the request, as
/// without the box.
pub struct BoxVendor<B, RB>(Box<dyn Boxable<B, RB>>);

impl Stack {
    /// Puts the layers around `client`, and all of it in a box whose type does not name the client.
    #[must_use]
    pub fn boxed<C, B, RB>(&self, client: C) -> BoxVendor<B, Paced<Peeked<RB>>>
    where
        C: Service<Request<Replay<B>>, Response = Response<RB>> + Clone + Send + Sync + 'static,
        C::Future: Send,
        C::Error: Into<BoxError>,
        B: Body + Send + Sync + Unpin + 'static,
        B::Data: Send + Sync,
        B::Error: Into<BoxError>,
        RB: Body + Send + 'static,
        RB::Data: Send,
        RB::Error: Send,
    {
        BoxVendor::new(self.service(client))
    }
}

type BoxAttempt<RB> = Pin<Box<dyn Future<Output = Result<Response<RB>, Error>> + Send>>;

trait Boxable<B, RB>: Send + Sync {
    fn boxed_clone(&self) -> Box<dyn Boxable<B, RB>>;
    fn ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>>;
    fn attempt(&mut self, request: Request<B>) -> BoxAttempt<RB>;
}

impl<S, B, RB> Boxable<B, RB> for S
where
    S: Service<Request<B>, Response = Response<RB>, Error = Error> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
{
    fn boxed_clone(&self) -> Box<dyn Boxable<B, RB>> {
        Box::new(self.clone())
    }

    fn ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.poll_ready(cx)
    }

    fn attempt(&mut self, request: Request<B>) -> BoxAttempt<RB> {
        Box::pin(self.call(request))
    }
}

impl<B, RB> BoxVendor<B, RB> {
    /// Puts `service` in a box: a [`Vendor`](crate::Vendor), or layers of one's own around one.
    #[must_use]
    pub fn new<S>(service: S) -> Self
    where
        S: Service<Request<B>, Response = Response<RB>, Error = Error> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
    {
        Self(Box::new(service))
    }

    /// Sends one logical request: makes a clone of the service ready, and calls it.
    ///
    /// # Errors
    /// As [`Vendor::send`](crate::Vendor::send). Dropping the future cancels the request and holds nothing.
    pub async fn send(&self, request: Request<B>) -> Result<Response<RB>, Error> {
        let mut service = self.clone();
        poll_fn(|cx| service.poll_ready(cx)).await?;
        service.call(request).await
    }
}

impl<B, RB> Clone for BoxVendor<B, RB> {
    fn clone(&self) -> Self {
        Self(self.0.boxed_clone())
    }
}

impl<B, RB> fmt::Debug for BoxVendor<B, RB> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoxVendor").finish_non_exhaustive()
    }
}

impl<B, RB> Service<Request<B>> for BoxVendor<B, RB> {
    type Response = Response<RB>;
    type Error = Error;
    type Future = BoxAttempt<RB>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.0.ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        self.0.attempt(request)
    }
}
