use std::time::Duration;

use forbear_core::store::{KeptResponses, PurgeResponses, ResponseKey, StoreClock, StoredResponse};
use forbear_core::work::Stamp;

use super::{Store, at, find, put, response};

/// What there must be: every response, and when it was received.
#[derive(Default)]
struct Reference {
    clock: StoreClock,
    kept: Vec<(Stamp, StoredResponse)>,
}

impl Reference {
    fn put(&mut self, response: StoredResponse, now: Stamp) {
        self.kept.retain(|(_, kept)| (kept.key, kept.variant) != (response.key, response.variant));
        self.kept.push((now.before(response.age), response));
    }

    fn find(&self, key: ResponseKey, now: Stamp) -> Vec<StoredResponse> {
        let mut found: Vec<_> = self.kept.iter().filter(|(_, kept)| kept.key == key).collect();
        found.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
        found.iter().map(|(at, kept)| StoredResponse { age: now.since(*at), ..kept.clone() }).collect()
    }
}

/// Steps in no order, compared after each with a reference that is too simple to be wrong. It stays below the bound.
pub async fn random_histories(store: Store) {
    let mut random = fastrand::Rng::with_seed(9);
    let (mut reference, mut now) = (Reference::default(), 0);
    for _ in 0..1_000 {
        now = match random.u8(..20) {
            0 => now / 2,
            1 => now + 86_400,
            _ => now + random.u64(1..60),
        };
        let wall = at(now);
        let key = ResponseKey { what: random.u128(..5), whose: random.u128(..3) };
        let store_time = reference.clock.read(wall);
        match random.u8(..10) {
            0..5 => {
                // No two are of one age: their order says nothing then.
                let age = Duration::from_millis(random.u64(..1 << 30));
                let one = StoredResponse {
                    variant: random.u128(..4),
                    age,
                    host: format!("{}.example", random.u8(..3)).into(),
                    ..response(key, &random.u64(..).to_string())
                };
                put(&store, vec![one.clone()], wall).await;
                reference.put(one, store_time);
            }
            5..8 => {}
            8 => {
                store.remove(vec![key]).await.expect("it removes");
                reference.kept.retain(|(_, kept)| kept.key != key);
            }
            _ if random.u8(..4) == 0 => {
                let host = format!("{}.example", random.u8(..3)).into();
                reference.kept.retain(|(_, kept)| kept.host != host);
                store.purge(PurgeResponses::Host(host)).await.expect("it purges");
            }
            _ => {}
        }
        assert_eq!(find(&store, key, wall).await, reference.find(key, store_time));
        let bytes = reference.kept.iter().map(|(_, kept)| kept.bytes()).sum();
        let responses = reference.kept.len() as u64;
        assert_eq!(store.kept().await.expect("it counts"), KeptResponses { responses, bytes });
    }
}
