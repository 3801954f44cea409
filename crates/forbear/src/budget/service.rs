use std::task::{Context, Poll};

use forbear_core::budget::Budget as Limits;
use http::{Request, Response};
use tower_service::Service;

use super::extension::Budget;
use super::future::BudgetFuture;
use super::layer::BudgetLayer;
use super::scope::Scope;
use crate::body::BoxError;
use crate::{Error, clock};

/// Gives every logical request one budget. See the [module](super).
#[derive(Debug, Clone)]
pub struct BudgetService<S> {
    inner: S,
    layer: BudgetLayer,
}

impl<S> BudgetService<S> {
    pub(crate) const fn inner(&self) -> &S {
        &self.inner
    }

    pub(super) const fn new(inner: S, layer: BudgetLayer) -> Self {
        Self { inner, layer }
    }
}

impl<S, B, RB> Service<Request<B>> for BudgetService<S>
where
    S: Service<Request<B>, Response = Response<RB>>,
    S::Error: Into<BoxError>,
{
    type Response = Response<RB>;
    type Error = Error;
    type Future = BudgetFuture<S::Future>;

    #[inline]
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx).map_err(Error::from_inner)
    }

    #[inline]
    fn call(&mut self, mut request: Request<B>) -> BudgetFuture<S::Future> {
        let now = clock::now();
        let own = Limits::new(self.layer.total.map(|total| now.after(total)), self.layer.attempts);
        let carried = request.extensions().get::<Budget>().map_or(Limits::UNLIMITED, |budget| budget.0);
        let budget = own.and(carried);
        if self.layer.across_tasks && budget.deadline().is_some() {
            request.extensions_mut().insert(Budget(budget));
        }
        let mut scope = Scope::new(now, budget);
        let inner = {
            let _entered = scope.enter();
            self.inner.call(request)
        };
        BudgetFuture::new(inner, scope, self.layer.grace)
    }
}
