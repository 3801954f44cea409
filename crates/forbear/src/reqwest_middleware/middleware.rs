use std::num::NonZeroU32;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Extensions, Method};
use reqwest::{Request, Response, Url};
use reqwest_middleware::{Middleware, Next, Result};

use super::resent::Resent;
use super::through::{Through, theirs};
use crate::order::RETRY_ABOVE;
use crate::reqwest::back;
use crate::{Families, RetryAfterLayer, Signal, Stack, Vendor};

/// All layers in the documented order, as a middleware. See the [module](super).
///
/// Clients with clones of it share the families and what is remembered.
#[derive(Debug, Clone)]
pub struct ForbearMiddleware {
    stack: Stack,
    resent: Arc<Resent>,
}

/// Extension of a logical request that ended in a limited answer or a refusal: what was asked. Who comes back with it and
/// the same question sends again; who only keeps extensions for the next request does not.
#[derive(Clone)]
struct GivenBack(Method, Url);

impl ForbearMiddleware {
    /// The stack of `families`, see [`stack`](crate::stack).
    #[must_use]
    pub fn new(families: &Families) -> Self {
        crate::stack(families).into()
    }

    /// The total time of each logical request, until its answer begins. Without it a request waits at most 60 s for its
    /// vendor.
    #[must_use]
    pub fn budget(self, total: Duration) -> Self {
        Self { stack: self.stack.budget(total), ..self }
    }

    /// At most `most` attempts for each logical request (no limit).
    #[must_use]
    pub fn attempts(self, most: NonZeroU32) -> Self {
        Self { stack: self.stack.attempts(most), ..self }
    }

    /// Another way to wait than [`RetryAfterLayer::new`].
    #[must_use]
    pub fn retry_after(self, layer: RetryAfterLayer) -> Self {
        Self { stack: self.stack.retry_after(layer), ..self }
    }

    async fn run(&self, request: Request, extensions: &mut Extensions, next: Next<'_>) -> Result<Response> {
        let asked = request.url().clone();
        let mut request =
            http::Request::<reqwest::Body>::try_from(request).map_err(reqwest::Error::without_url)?;
        if !extensions.is_empty() {
            request.extensions_mut().extend(extensions.clone());
        }
        let before = extensions.get::<GivenBack>();
        if before.is_some_and(|GivenBack(method, url)| method == request.method() && *url == asked) {
            RETRY_ABOVE.report();
        }
        let method = request.method().clone();
        let through = Through::new(next, &self.resent, &asked, extensions.clone());
        let answer = Vendor::new(self.stack.around(through.clone())).send(request).await;
        *extensions = through.into_extensions();
        let limited = match &answer {
            Ok(answer) => answer.extensions().get::<Signal>().is_some(),
            Err(error) => error.is_refusal(),
        };
        if limited {
            extensions.insert(GivenBack(method, asked.clone()));
        }
        answer.map(|answer| back(answer, asked)).map_err(theirs)
    }
}

impl From<Stack> for ForbearMiddleware {
    fn from(stack: Stack) -> Self {
        Self { stack, resent: Arc::new(Resent::new()) }
    }
}

/// What `async_trait` makes of the trait's one function.
impl Middleware for ForbearMiddleware {
    fn handle<'this, 'extensions, 'next, 'all>(
        &'this self,
        request: Request,
        extensions: &'extensions mut Extensions,
        next: Next<'next>,
    ) -> Pin<Box<dyn Future<Output = Result<Response>> + Send + 'all>>
    where
        'this: 'all,
        'extensions: 'all,
        'next: 'all,
        Self: 'all,
    {
        Box::pin(self.run(request, extensions, next))
    }
}
