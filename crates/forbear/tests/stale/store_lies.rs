//! A store behind memory that tells what nobody gave it.

use std::sync::Arc;

use forbear_core::store::{
    FoundResponses, KeptResponses, PurgeResponses, ResponseKey, ResponseSecret, ResponseStore, StoreFuture,
    StoredResponse,
};
use forbear_core::work::Stamp;
use http::StatusCode;

use crate::scripted::Scripted;
use crate::store::process;
use crate::vendor::{answer, ok};
use crate::*;

/// Of what is found it tells something else.
#[derive(Clone)]
struct Lying {
    store: Scripted,
    lie: Arc<dyn Fn(&mut FoundResponses) + Send + Sync>,
}

impl std::fmt::Debug for Lying {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lying")
    }
}

impl ResponseStore for Lying {
    fn name(&self) -> &'static str {
        "lying"
    }

    fn secret(&self) -> ResponseSecret {
        self.store.secret()
    }

    fn find(&self, key: ResponseKey, now: Stamp) -> StoreFuture<'_, FoundResponses> {
        Box::pin(async move {
            let mut found = self.store.find(key, now).await?;
            (self.lie)(&mut found);
            Ok(found)
        })
    }

    fn put(&self, responses: Vec<StoredResponse>, now: Stamp) -> StoreFuture<'_, ()> {
        self.store.put(responses, now)
    }

    fn remove(&self, keys: Vec<ResponseKey>) -> StoreFuture<'_, ()> {
        self.store.remove(keys)
    }

    fn purge(&self, what: PurgeResponses) -> StoreFuture<'_, u64> {
        self.store.purge(what)
    }

    fn kept(&self) -> StoreFuture<'_, KeptResponses> {
        ResponseStore::kept(&self.store)
    }
}

/// What the next process is served where its store lies, while the vendor answers, and while it is down.
async fn told(lie: impl Fn(&mut FoundResponses) + Send + Sync + 'static) -> [String; 2] {
    let store = Scripted::new();
    let first = Vendor::new(|_| {
        let fields = [("cache-control", "max-age=60"), ("content-length", "6"), ("vary", "accept")];
        Ok(ok(&fields, "stored"))
    });
    let service = process(&first, &store);
    ask(&service, URL).await;
    service.stored().await.unwrap();
    let store = Lying { store, lie: Arc::new(lie) };
    let mut told = [(); 2].map(|()| String::new());
    for (told, status) in told.iter_mut().zip([200, 503]) {
        let vendor = Vendor::new(move |_| Ok(answer(status, &[("cache-control", "no-store")], "vendor")));
        let next = process(&vendor, &store);
        for _ in 0..2 {
            let response = send(&next, get(URL)).await;
            let age = response.headers().get("age").map(|age| age.to_str().unwrap().parse::<u64>().unwrap());
            assert!(age.is_none_or(|age| age <= 1 << 40), "{age:?}");
            *told = text(response).await;
        }
    }
    told
}

fn each(lie: impl Fn(&mut StoredResponse) + Send + Sync + 'static) -> impl Fn(&mut FoundResponses) {
    move |found| found.responses.iter_mut().for_each(&lie)
}

#[tokio::test(start_paused = true)]
async fn what_is_told_of_another_key_or_cut_or_nonsense_is_not_served() {
    let stored = || ["stored", "stored"].map(str::to_owned);
    let vendor = || ["vendor", "vendor"].map(str::to_owned);
    assert_eq!(told(|_| ()).await, stored());
    assert_eq!(told(each(|row| row.key.whose += 1)).await, vendor());
    assert_eq!(told(each(|row| row.key.what += 1)).await, vendor());
    assert_eq!(told(each(|row| row.body.truncate(5))).await, vendor());
    assert_eq!(told(each(|row| row.body = "stored and more".into())).await, vendor());
    for status in [100, 206, 304, 429, 500, 599] {
        let status = StatusCode::from_u16(status).unwrap();
        assert_eq!(told(each(move |row| row.status = status)).await, vendor(), "{status}");
    }
    for vary in ["*", "\u{7f}"] {
        let vary = http::HeaderValue::from_bytes(vary.as_bytes()).unwrap_or("x, *".parse().unwrap());
        let lie = move |row: &mut StoredResponse| drop(row.fields.insert("vary", vary.clone()));
        assert_eq!(told(each(lie)).await, vendor());
    }
    let forbidden =
        |row: &mut StoredResponse| drop(row.fields.insert("cache-control", "no-store".parse().unwrap()));
    assert_eq!(told(each(forbidden)).await, vendor());
    // Too old to be served at all.
    for age in [Duration::MAX, Duration::from_secs(u64::MAX / 2), 1_000_000_000 * SECOND] {
        assert_eq!(told(each(move |row| row.age = age)).await, vendor(), "{age:?}");
    }
    assert_eq!(told(each(|row| row.age = 100 * SECOND)).await, ["vendor", "stored"]);
    // No more are looked at than are kept.
    let after = |others: u128| {
        move |found: &mut FoundResponses| {
            let row = found.responses.remove(0);
            found.responses = (0..others).map(|variant| StoredResponse { variant, ..row.clone() }).collect();
            found.responses.push(row);
        }
    };
    assert_eq!(told(after(15)).await, stored());
    assert_eq!(told(after(1_000)).await, vendor());
}
