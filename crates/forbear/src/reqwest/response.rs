//! An answer on its way from reqwest, and back into its types.

use http::uri::PathAndQuery;
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
pub(crate) fn answer(response: reqwest::Response, asked: &Uri) -> Response<reqwest::Body> {
    let moved = (!is(response.url(), asked)).then(|| response.url().clone());
    let mut answer = Response::<reqwest::Body>::from(response);
    if let Some(url) = moved {
        if let Ok(uri) = url.as_str().parse::<Uri>() {
            answer.extensions_mut().insert(EffectiveUri(uri));
        }
        answer.extensions_mut().insert(Moved(url));
    }
    answer
}

/// Whether a URL is that of a request. Most are spelled the same, which needs no parsing.
fn is(url: &Url, uri: &Uri) -> bool {
    let spelled = || {
        let rest = url.as_str().strip_prefix(uri.scheme_str()?)?.strip_prefix("://")?;
        let path = uri.path_and_query().map_or("/", PathAndQuery::as_str);
        Some(rest.strip_prefix(uri.authority()?.as_str())? == path)
    };
    spelled() == Some(true) || uri.to_string().parse().is_ok_and(|asked: Url| asked == *url)
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
    let mut told = Response::builder();
    if let Some(extensions) = told.extensions_mut() {
        *extensions = std::mem::take(&mut head.extensions);
    }
    told = told.url(url);
    if let Some(extensions) = told.extensions_mut() {
        head.extensions = std::mem::take(extensions);
    }
    Response::from_parts(head, wrap(body)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_the_same_however_it_is_spelled() {
        let is = |url: &str, uri: &'static str| is(&url.parse().unwrap(), &Uri::from_static(uri));
        assert!(is("http://a.test/x?y=1", "http://a.test/x?y=1"));
        assert!(is("http://a.test/", "http://a.test"));
        assert!(is("https://a.test/x", "HTTPS://A.TEST:443/x"));
        assert!(!is("https://a.test/x", "http://a.test/x"));
        assert!(!is("http://a.test/x", "http://a.test/xy"));
        assert!(!is("http://a.test/xy", "http://a.test/x"));
        assert!(!is("http://b.test/x", "http://a.test/x"));
    }
}
