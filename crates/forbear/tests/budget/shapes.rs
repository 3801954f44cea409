//! Services and futures of every shape: neither `Send`, `Clone` nor `Unpin`.

use std::cell::Cell;
use std::convert::Infallible;
use std::future::Future;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;
use forbear::{BudgetLayer, Families, FamilyCooldownLayer, RetryAfterLayer};
use http::{Request, Response};
use http_body_util::Full;
use tower::{Layer, Service, ServiceExt};

use crate::common::{MS, SECOND, called, get};

/// Neither `Send` nor, unlike [`Shared`], `Clone`.
struct Local(Rc<Cell<u32>>);

/// Not `Send`.
#[derive(Clone)]
struct Shared(Rc<Cell<u32>>);

async fn reply(count: Rc<Cell<u32>>) -> Result<Response<Full<Bytes>>, Infallible> {
    // Held across an await, so the future is neither `Send` nor `Unpin`.
    let pinned = (PhantomPinned, count);
    tokio::time::sleep(MS).await;
    pinned.1.set(pinned.1.get() + 1);
    Ok(Response::new(Full::default()))
}

macro_rules! service {
    ($name:ident) => {
        impl<B> Service<Request<B>> for $name {
            type Response = Response<Full<Bytes>>;
            type Error = Infallible;
            type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>>>>;

            fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
                Poll::Ready(Ok(()))
            }

            fn call(&mut self, _: Request<B>) -> Self::Future {
                Box::pin(reply(Rc::clone(&self.0)))
            }
        }
    };
}

service!(Local);
service!(Shared);

#[tokio::test(start_paused = true)]
async fn a_budget_needs_neither_send_nor_clone() {
    let count = Rc::new(Cell::new(0));
    let mut service = BudgetLayer::new(SECOND).layer(Local(Rc::clone(&count)));
    for _ in 0..2 {
        called(&mut service, get("http://vendor.test/")).await.await.unwrap();
    }
    assert_eq!(count.get(), 2);
}

#[tokio::test(start_paused = true)]
async fn all_three_layers_need_no_send() {
    let count = Rc::new(Cell::new(0));
    let families = Families::builder().build().unwrap();
    let layers = (BudgetLayer::new(SECOND), RetryAfterLayer::new(), FamilyCooldownLayer::new(families));
    let service = layers.layer(Shared(Rc::clone(&count)));
    assert_eq!(service.oneshot(get("http://vendor.test/")).await.unwrap().status(), 200);
    assert_eq!(count.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn all_three_layers_take_an_unboxed_future_that_is_not_unpin() {
    let client = tower::service_fn(|_| async {
        let pinned = PhantomPinned;
        tokio::time::sleep(MS).await;
        let _ = &pinned;
        Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
    });
    let families = Families::builder().build().unwrap();
    let service = forbear::stack(&families).budget(SECOND).service(client);
    assert_eq!(service.send(get("http://vendor.test/")).await.unwrap().status(), 200);
}
