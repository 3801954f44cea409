use std::task::{Context, Poll};

use forbear_core::budget::Budget as Limits;
use http::{Request, Response};
use tower_service::Service;

use super::extension::Budget;
use super::future::BudgetFuture;
use super::layer::BudgetLayer;
use super::scope::{self, Spending};
use crate::body::BoxError;
use crate::{Error, clock};

/// Gives every logical request one budget. See the [module](super).
#[derive(Debug, Clone)]
pub struct BudgetService<S> {
    inner: S,
    layer: BudgetLayer,
}

impl<S> BudgetService<S> {
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

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx).map_err(Error::from_inner)
    }

    fn call(&mut self, mut request: Request<B>) -> BudgetFuture<S::Future> {
        let now = clock::now();
        let own = self.layer.total.map_or(Limits::UNLIMITED, |total| Limits::until(now.after(total)));
        let carried = request.extensions().get::<Budget>().map_or(Limits::UNLIMITED, |budget| budget.0);
        let budget = own.and(carried);
        if self.layer.across_tasks && budget.deadline().is_some() {
            request.extensions_mut().insert(Budget(budget));
        }
        let left = self.layer.attempts.map(std::num::NonZeroU32::get);
        let mut spending =
            Spending { entered: now, deadline: budget.deadline(), left, ..Spending::default() };
        let inner = {
            let _entered = scope::enter(&mut spending);
            self.inner.call(request)
        };
        BudgetFuture::new(inner, spending, self.layer.grace)
    }
}
