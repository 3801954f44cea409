use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use forbear_core::store::{KeptResponses, PurgeResponses, ResponseKey, StoredResponse};
use http::{HeaderMap, HeaderValue, StatusCode};

use super::{BYTES, HOUR, SECOND, Store, at, bodies, find, key, large, put, response, variant};

/// Nothing of what is put is changed by the way, or lost.
pub async fn every_value_survives(store: Store) {
    let mut fields = HeaderMap::new();
    for (name, value) in [
        ("content-type", &b"application/json"[..]),
        ("set-cookie", b"a=1"),
        ("set-cookie", b"b=2"),
        ("x-empty", b""),
        ("x-bytes", b"\xc3\xa4\xff: \t"),
    ] {
        fields.append(name, HeaderValue::from_bytes(value).expect("a value"));
    }
    let full = StoredResponse {
        key: ResponseKey { what: u128::MAX, whose: 1 << 127 },
        variant: 1 << 64,
        host: "xn--bcher-kva.example".into(),
        family: Some("yahoo".into()),
        status: StatusCode::from_u16(299).expect("a status"),
        fields,
        body: Bytes::from((0..=u8::MAX).cycle().take(70_000).collect::<Vec<_>>()),
        age: Duration::from_millis(90_061_001),
    };
    let empty = StoredResponse { fields: HeaderMap::new(), ..response(key(0), "") };
    put(&store, vec![full.clone(), empty.clone()], at(0)).await;
    assert_eq!(find(&store, full.key, at(0)).await, [full]);
    assert_eq!(find(&store, key(0), at(0)).await, [empty]);
    assert_eq!(store.secret(), store.secret());
    assert!(!store.name().is_empty());
}

/// With the time that passes, and never back.
pub async fn ages_go_on(store: Store) {
    put(&store, vec![StoredResponse { age: 10 * SECOND, ..response(key(1), "a") }], at(0)).await;
    for passed in [0, 1, 3_600, 400 * 24 * 3_600] {
        assert_eq!(find(&store, key(1), at(passed)).await[0].age, (10 + passed as u32) * SECOND);
    }
}

/// Whatever is read or put after that.
pub async fn a_clock_that_is_set_back_makes_nothing_younger(store: Store) {
    put(&store, vec![response(key(1), "a")], at(10 * HOUR)).await;
    put(&store, vec![response(key(2), "b")], at(11 * HOUR)).await;
    let back = at(2 * HOUR);
    assert_eq!(find(&store, key(1), back).await[0].age, 3_600 * SECOND);
    assert_eq!(find(&store, key(2), back).await[0].age, Duration::ZERO);
    put(&store, vec![response(key(3), "c")], at(2 * HOUR + 60)).await;
    let later = at(2 * HOUR + 100);
    assert_eq!(find(&store, key(1), later).await[0].age, 3_700 * SECOND);
    assert_eq!(find(&store, key(3), later).await[0].age, 40 * SECOND);
}

/// And of no other.
pub async fn a_response_takes_the_place_of_its_variant(store: Store) {
    put(&store, vec![response(key(1), "old"), variant(key(1), 7, "other")], at(0)).await;
    let new = StoredResponse { status: StatusCode::NOT_FOUND, ..response(key(1), "new") };
    put(&store, vec![new.clone()], at(1)).await;
    let found = find(&store, key(1), at(1)).await;
    assert_eq!((found.len(), &found[0]), (2, &new));
    assert_eq!(found[1].body, "other");
    // As one that was confirmed, whose body is the same.
    let fields = HeaderMap::from_iter([(http::header::AGE, HeaderValue::from_static("a longer one"))]);
    let confirmed = StoredResponse { fields, ..new };
    put(&store, vec![confirmed.clone()], at(2)).await;
    let found = find(&store, key(1), at(2)).await;
    assert_eq!((found.len(), &found[0]), (2, &confirmed));
    let bytes = found.iter().map(StoredResponse::bytes).sum();
    assert_eq!(store.kept().await.expect("it counts"), KeptResponses { responses: 2, bytes });
}

/// Whatever was put when.
pub async fn the_youngest_comes_first(store: Store) {
    let aged = |of, body, age: u32| StoredResponse { age: age * SECOND, ..variant(key(1), of, body) };
    put(&store, vec![aged(1, "a", 20), aged(2, "b", 5), aged(3, "c", 40)], at(100)).await;
    put(&store, vec![aged(4, "d", 30)], at(101)).await;
    assert_eq!(bodies(&store, key(1), at(102)).await, ["b", "a", "d", "c"]);
}

/// Of one key.
pub async fn of_too_many_variants_the_oldest_leaves(store: Store) {
    let most = ResponseKey::VARIANTS;
    for number in 0..=most {
        let one = variant(key(1), number as u128 + 1, &number.to_string());
        put(&store, vec![one], at(number as u64)).await;
    }
    let expected: Vec<_> = (1..=most).rev().map(|number| number.to_string()).collect();
    assert_eq!(bodies(&store, key(1), at(100)).await, expected);
}

/// By what is asked for, and by whom.
pub async fn keys_are_apart(store: Store) {
    let keys: Vec<_> =
        [(1, 0), (1, 1), (1, 2), (2, 1), (1 << 64, 1), (1, 1 << 64), (u128::MAX, u128::MAX), (0, 0)]
            .into_iter()
            .map(|(what, whose)| ResponseKey { what, whose })
            .collect();
    let responses = keys.iter().enumerate().map(|(at, key)| response(*key, &at.to_string()));
    put(&store, responses.collect(), at(0)).await;
    for (number, key) in keys.iter().enumerate() {
        assert_eq!(bodies(&store, *key, at(0)).await, [number.to_string()]);
    }
    assert!(find(&store, key(3), at(0)).await.is_empty());
}

/// With all variants; others stay.
pub async fn what_is_removed_is_gone(store: Store) {
    let theirs = ResponseKey { what: 1, whose: 9 };
    let all = [response(key(1), "a"), variant(key(1), 7, "b"), response(key(2), "c"), response(theirs, "d")];
    put(&store, all.to_vec(), at(0)).await;
    store.remove(vec![key(1), key(77)]).await.expect("it removes");
    assert!(find(&store, key(1), at(0)).await.is_empty());
    assert_eq!(bodies(&store, key(2), at(0)).await, ["c"]);
    assert_eq!(bodies(&store, theirs, at(0)).await, ["d"]);
    let bytes = all[2].bytes() + all[3].bytes();
    assert_eq!(store.kept().await.expect("it counts"), KeptResponses { responses: 2, bytes });
}

/// And says how many there were.
pub async fn a_purge_takes_a_host_a_family_or_all(store: Store) {
    let of = |number: u128, host: &str, family: Option<&str>| StoredResponse {
        host: host.into(),
        family: family.map(Into::into),
        ..response(key(number), &number.to_string())
    };
    let all: Vec<_> = (0..1_000)
        .map(|number| match number % 4 {
            0 => of(number, "a.example", Some("one")),
            1 => of(number, "b.example", Some("one")),
            2 => of(number, "a.example", None),
            _ => of(number, "c.example", Some("a.example")),
        })
        .collect();
    put(&store, all, at(0)).await;
    let purge = async |what| store.purge(what).await.expect("it purges");
    let there = async || {
        let mut there = [false; 4];
        for number in 0..1_000 {
            let found = !find(&store, key(number), at(1)).await.is_empty();
            let part = &mut there[usize::try_from(number % 4).expect("small")];
            assert!(number < 4 || *part == found);
            *part = found;
        }
        there
    };
    assert_eq!(purge(PurgeResponses::Host("a.example".into())).await, 500);
    assert_eq!(there().await, [false, true, false, true]);
    assert_eq!(purge(PurgeResponses::Host("example".into())).await, 0);
    assert_eq!(purge(PurgeResponses::Family("one".into())).await, 250);
    assert_eq!(there().await, [false, false, false, true]);
    assert_eq!(purge(PurgeResponses::All).await, 250);
    assert_eq!(store.kept().await.expect("it counts"), KeptResponses::default());
}

/// Found or put, to the hour.
pub async fn what_was_used_least_lately_leaves(store: Store) {
    for number in 0..4 {
        put(&store, vec![large(key(number), BYTES / 4)], at(number as u64 * 2 * HOUR)).await;
    }
    // The first is used again.
    assert_eq!(find(&store, key(0), at(8 * HOUR)).await.len(), 1);
    put(&store, vec![large(key(4), BYTES / 2)], at(10 * HOUR)).await;
    let mut there = Vec::new();
    for number in 0..5 {
        there.push(!find(&store, key(number), at(12 * HOUR)).await.is_empty());
    }
    assert_eq!(there, [true, false, false, true, true]);
}

/// Otherwise what it was to take the place of would be found.
pub async fn what_is_too_large_is_not_kept_nor_what_it_replaces(store: Store) {
    put(&store, vec![large(key(1), BYTES), variant(key(2), 7, "b")], at(0)).await;
    put(&store, vec![large(key(1), BYTES + 1)], at(1)).await;
    assert!(find(&store, key(1), at(1)).await.is_empty());
    assert_eq!(bodies(&store, key(2), at(1)).await, ["b"]);
    put(&store, vec![large(key(3), BYTES - variant(key(2), 7, "b").bytes())], at(2)).await;
    assert_eq!(store.kept().await.expect("it counts"), KeptResponses { responses: 2, bytes: BYTES });
}

/// Whatever comes.
pub async fn it_is_bounded_by_bytes(store: Store) {
    for number in 0..200_u64 {
        let bytes = 1_000 + number * 7_919 % 60_000;
        put(&store, vec![large(key(u128::from(number)), bytes)], at(number)).await;
        let kept = store.kept().await.expect("it counts");
        assert!(kept.bytes <= BYTES, "{kept:?}");
        assert_eq!(find(&store, key(u128::from(number)), at(number)).await.len(), 1);
    }
    let (mut bytes, mut responses) = (0, 0);
    for number in 0..200 {
        for found in find(&store, key(number), at(1_000)).await {
            bytes += found.bytes();
            responses += 1;
        }
    }
    assert_eq!(store.kept().await.expect("it counts"), KeptResponses { responses, bytes });
    assert!(bytes > BYTES * 9 / 10, "{bytes}");
}

/// Who does not know whether it was kept may give it again.
pub async fn twice_is_as_good_as_once(store: Store) {
    let one = response(key(1), "a");
    put(&store, vec![one.clone(), one.clone()], at(0)).await;
    put(&store, vec![one.clone()], at(0)).await;
    assert_eq!(find(&store, key(1), at(0)).await, std::slice::from_ref(&one));
    assert_eq!(store.kept().await.expect("it counts").bytes, one.bytes());
    for _ in 0..2 {
        store.remove(vec![key(1), key(1)]).await.expect("it removes");
    }
    assert_eq!(store.kept().await.expect("it counts"), KeptResponses::default());
}

/// Each is there.
pub async fn concurrent_puts_lose_nothing(store: Store) {
    let puts: Vec<_> = (0..50)
        .map(|number| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let one = response(key(number), &number.to_string());
                store.put(vec![one, response(key(1_000), "shared")], at(0)).await.expect("it is kept");
            })
        })
        .collect();
    for put in puts {
        put.await.expect("it ends");
    }
    for number in 0..50 {
        assert_eq!(bodies(&store, key(number), at(0)).await, [number.to_string()]);
    }
    assert_eq!(bodies(&store, key(1_000), at(0)).await, ["shared"]);
    assert_eq!(store.kept().await.expect("it counts").responses, 51);
}
