//! An answer on its way from reqwest, and back into its types.

use http::{Response, Uri};
use http_body::Body;
use reqwest::{ResponseBuilderExt, Url};

use super::request::wrap;
use crate::EffectiveUri;
use crate::body::BoxError;

/// Response extension: the URL that answered, as reqwest has it.
#[derive(Clone)]
struct Moved(Url);

/// The answer to what was sent to `asked`, with the URL that answered where that is another.
pub(crate) fn answer(response: reqwest::Response, asked: &Url) -> Response<reqwest::Body> {
    let moved = (response.url() != asked).then(|| response.url().clone());
    let mut answer = Response::<reqwest::Body>::from(response);
    if let Some(url) = moved {
        if let Ok(uri) = url.as_str().parse::<Uri>() {
            answer.extensions_mut().insert(EffectiveUri(uri));
        }
        answer.extensions_mut().insert(Moved(url));
    }
    answer
}

/// The answer in reqwest's own type. Its URL is `asked` where nobody was redirected.
pub(crate) fn back<RB>(answer: Response<RB>, asked: Url) -> reqwest::Response
where
    RB: Body + Send + Unpin + 'static,
    RB::Error: Into<BoxError>,
{
    let (mut head, body) = answer.into_parts();
    let url = head.extensions.remove::<Moved>().map_or(asked, |moved| moved.0);
    // The only way to tell reqwest the URL of an answer.
    let mut told = Response::builder().url(url);
    if let Some(told) = told.extensions_mut() {
        head.extensions.extend(std::mem::take(told));
    }
    Response::from_parts(head, wrap(body)).into()
}
