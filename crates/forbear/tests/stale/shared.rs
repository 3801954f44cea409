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
