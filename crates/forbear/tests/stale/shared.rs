//! As a cache that several users share.

use crate::vendor::ok;
use crate::*;

#[tokio::test(start_paused = true)]
async fn what_is_one_users_alone_is_not_stored() {
    let stored = async |fields: &'static [(&'static str, &'static str)], authorized: bool| {
        let vendor = Vendor::new(move |_| Ok(ok(fields, "")));
        let service = layer().shared().layer(vendor.clone());
        for _ in 0..2 {
            let mut request = get(URL);
            if authorized {
                request.headers_mut().insert("authorization", "Bearer 1".parse().unwrap());
            }
            send(&service, request).await.into_body().collect().await.unwrap();
        }
        vendor.attempts() == 1
    };
    assert!(stored(&[("cache-control", "max-age=60")], false).await);
    assert!(!stored(&[("cache-control", "private, max-age=60")], false).await);
    assert!(!stored(&[("cache-control", "max-age=60")], true).await);
    assert!(stored(&[("cache-control", "public, max-age=60")], true).await);
    assert!(stored(&[("cache-control", "max-age=0, s-maxage=60")], false).await);
}

/// What a vendor sets for one user, also where all asked at once, and where nothing better is to be had later.
#[tokio::test(start_paused = true)]
async fn a_session_that_a_vendor_opens_is_nobody_elses() {
    let shared = async |cache_control: &'static str| {
        let mut sessions = 0;
        let vendor = Vendor::new(move |_| {
            sessions += 1;
            let session = format!("session={sessions}");
            Ok(ok(&[("cache-control", cache_control), ("set-cookie", &session)], ""))
        });
        vendor.takes(SECOND);
        let service = layer().shared().layer(vendor.clone());
        let all = futures_util::future::join_all((0..5).map(|_| send(&service, get(URL)))).await;
        let mut sessions: Vec<_> = all.iter().map(|answer| answer.headers()["set-cookie"].clone()).collect();
        sessions.sort_unstable();
        sessions.dedup();
        drop(all);
        vendor.now(|_| Err(vendor::Fault("no connection")));
        (sessions.len(), service.clone().oneshot(get(URL)).await.is_err())
    };
    assert_eq!(shared("max-age=60").await, (5, true));
    assert_eq!(shared("max-age=60, immutable").await, (5, true));
}

#[tokio::test(start_paused = true)]
async fn a_cookie_that_is_for_all_is_shared() {
    let vendor =
        Vendor::new(|_| Ok(ok(&[("cache-control", "public, max-age=60"), ("set-cookie", "a=b")], "")));
    let service = layer().shared().layer(vendor.clone());
    for _ in 0..2 {
        assert_eq!(send(&service, get(URL)).await.into_body().collect().await.unwrap().to_bytes(), "");
    }
    assert_eq!(vendor.attempts(), 1);
}
