//! A refusal is found wherever it stands in a chain of errors; what is none keeps its type.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use forbear::{BoxError, Error, Refusal, RefusalResponseLayer};
use http::{Request, Response};
use http_body_util::Full;
use tower::{Layer, ServiceExt};

use crate::common::{Client, SECOND, Sent, answer, get};
use crate::{ask, families, told, vendor};

/// A handler's own error.
#[derive(Debug)]
struct Page(Option<BoxError>);

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the page cannot be made")
    }
}

impl StdError for Page {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.as_deref().map(|source| source as _)
    }
}

async fn cooling() -> Error {
    let families = families();
    families.cool("quotes", 90 * SECOND, forbear::Operator::new("alice", "mail")).unwrap();
    ask(&vendor(&families, &Client::new([answer(200)]))).await.unwrap_err()
}

fn page(source: impl Into<BoxError>) -> Page {
    Page(Some(source.into()))
}

#[tokio::test(start_paused = true)]
async fn wherever_it_stands() {
    let chains: [(&str, BoxError); 7] = [
        ("itself", cooling().await.into()),
        ("a source", page(cooling().await).into()),
        ("two deep", page(page(cooling().await)).into()),
        ("shared", page(Arc::new(cooling().await)).into()),
        ("boxed", page(Box::new(cooling().await) as BoxError).into()),
        ("boxed with its type", page(Box::new(Box::new(cooling().await)) as BoxError).into()),
        ("below a client that failed of it", Error::from_inner(page(cooling().await)).into()),
    ];
    for (place, chain) in chains {
        let refusal = Refusal::find(chain.as_ref()).unwrap_or_else(|| panic!("{place}"));
        let told = (refusal.status().as_u16(), refusal.family(), refusal.retry_in());
        assert_eq!(told, (503, Some("quotes"), Some(90 * SECOND)), "{place}");
    }
    let failed = Refusal::find(&page(Error::from_inner("reset"))).unwrap();
    assert_eq!((failed.status().as_u16(), failed.reason()), (502, "client-failed"));
    assert!(Refusal::find(&page("disk full")).is_none() && Refusal::find(&Page(None)).is_none());
}

#[tokio::test(start_paused = true)]
async fn a_servers_errors_are_looked_into_and_those_that_tell_of_none_are_kept() {
    type Answer = Response<Full<Bytes>>;
    let typed = tower::service_fn(|request: Request<Sent>| async move {
        let refused = request.uri().path() == "/refused";
        Err::<Answer, _>(if refused { page(cooling().await) } else { Page(None) })
    });
    let boxed = tower::service_fn(|request: Request<Sent>| async move {
        let refused = request.uri().path() == "/refused";
        Err::<Answer, BoxError>(if refused { page(cooling().await).into() } else { "disk full".into() })
    });
    let layer = RefusalResponseLayer::new();
    let answer = layer.layer(typed).oneshot(get("/refused")).await.unwrap();
    assert_eq!(told(answer).await.retry_after.as_deref(), Some("90"));
    let kept: Page = layer.layer(typed).oneshot(get("/")).await.unwrap_err();
    assert!(kept.0.is_none());
    let answer = layer.boxed().layer(boxed).oneshot(get("/refused")).await.unwrap();
    assert_eq!(told(answer).await.retry_after.as_deref(), Some("90"));
    let kept: BoxError = layer.boxed().layer(boxed).oneshot(get("/")).await.unwrap_err();
    assert_eq!(kept.to_string(), "disk full");
}
