//! How an answer from memory looks.

use http::Method;

use crate::*;

#[tokio::test(start_paused = true)]
async fn head_is_answered_by_what_a_get_stored_without_its_body() {
    let vendor =
        Vendor::new(|_| Ok(vendor::ok(&[("cache-control", "max-age=10"), ("content-length", "5")], "whole")));
    let service = service(&vendor);
    ask(&service, URL).await;
    let head = || {
        let mut request = get(URL);
        *request.method_mut() = Method::HEAD;
        request
    };
    let response = send(&service, head()).await;
    assert_eq!(
        (served(&response), response.headers()["content-length"].to_str().unwrap()),
        (Served::Fresh, "5")
    );
    assert_eq!(text(response).await, "");
    tokio::time::sleep(11 * SECOND).await;
    assert_eq!(served(&send(&service, head()).await), Served::Live);
    assert_eq!(vendor.attempts(), 2);
}

#[tokio::test(start_paused = true)]
async fn who_has_it_already_is_told_so() {
    let vendor = Vendor::new(|_| {
        Ok(vendor::ok(
            &[("cache-control", "max-age=10"), ("etag", "W/\"1\""), ("content-length", "5")],
            "whole",
        ))
    });
    let service = service(&vendor);
    ask(&service, URL).await;
    for (known, status) in [("\"1\"", 304), ("\"0\", W/\"1\"", 304), ("*", 304), ("\"2\"", 200)] {
        let mut request = get(URL);
        request.headers_mut().insert("if-none-match", known.parse().unwrap());
        assert_eq!(send(&service, request).await.status(), status, "{known}");
    }
    assert_eq!(vendor.attempts(), 1);
}

#[tokio::test(start_paused = true)]
async fn fields_with_several_values_and_those_of_a_connection() {
    let vendor = Vendor::new(|_| {
        let fields = [
            ("cache-control", "max-age=10"),
            ("link", "a"),
            ("link", "b"),
            ("connection", "x-hop"),
            ("x-hop", "1"),
        ];
        Ok(vendor::ok(&fields, ""))
    });
    let service = service(&vendor);
    ask(&service, URL).await;
    let response = send(&service, get(URL)).await;
    assert_eq!(response.headers().get_all("link").iter().count(), 2);
    assert!(!response.headers().contains_key("x-hop") && !response.headers().contains_key("connection"));
}

/// A vendor, or a cache before it, that says an age nobody can count with.
#[tokio::test(start_paused = true)]
async fn absurd_ages_and_spans_harm_nothing() {
    for age in ["18446744073709551615", "-5", "x", "99999999999999999999999999"] {
        let vendor = Vendor::new(move |_| {
            Ok(vendor::ok(
                &[("cache-control", "max-age=99999999999999999999"), ("age", age), ("expires", "0")],
                "whole",
            ))
        });
        let service = service(&vendor);
        ask(&service, URL).await;
        tokio::time::sleep(SECOND).await;
        assert_eq!(ask(&service, URL).await.1, "whole", "{age}");
    }
}
