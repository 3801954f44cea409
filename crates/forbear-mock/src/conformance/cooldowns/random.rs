use std::sync::Arc;
use std::time::Duration;

use forbear_core::gate::Operator;
use forbear_core::store::{CooldownEntry, CooldownStore, MemoryCooldowns, Pause};
use forbear_core::work::Stamp;

use super::entries::{Store, at, entry, full, key, load, part, save};

/// Two hundred saves of several processes, drawn at random: at every step the store says what one in memory says.
pub async fn random_histories(store: Store) {
    let memory: Store = Arc::new(MemoryCooldowns::new());
    let mut random = fastrand::Rng::with_seed(7);
    let mut seconds = 0;
    for step in 0..200 {
        seconds += random.u64(0..30);
        // Now and then the clock is set back.
        let now = if random.u8(..) < 8 { at(seconds / 2) } else { at(seconds) };
        let entries: Vec<_> = (0..random.usize(1..4)).map(|_| drawn(&mut random)).collect();
        let (told, expected) =
            (save(&store, entries.clone(), now).await, save(&memory, entries.clone(), now).await);
        assert_eq!(told, expected, "step {step}: {entries:?}");
        same(&store, &memory, now, step).await;
    }
}

async fn same(store: &Store, memory: &Store, now: Stamp, step: usize) {
    assert_eq!(load(store, now).await, load(memory, now).await, "step {step}");
    let keys = vec![key("a"), part("a", "x"), key("b")];
    let looks = |store: &Store| -> Arc<dyn CooldownStore> { Arc::clone(store) };
    let found = looks(store).look_up(keys.clone(), now).await.expect("it looks");
    assert_eq!(found, looks(memory).look_up(keys, now).await.expect("it looks"), "step {step}");
}

fn drawn(random: &mut fastrand::Rng) -> CooldownEntry {
    let key = match random.u8(0..3) {
        0 => key("a"),
        1 => part("a", "x"),
        _ => key("b"),
    };
    let length = random.u64(0..300);
    let mut drawn =
        entry(key.clone(), (random.u32(0..2), random.u32(0..8)), length, random.u64(0..=length * 2));
    if random.bool() {
        drawn.transition.struck = full(key).transition.struck;
        drawn.transition.pace = Some(random.f64() * 10.0);
    }
    drawn.transition.level = random.u8(0..9);
    drawn.transition.open = random.bool();
    drawn.pause = match random.u8(0..6) {
        0 => Pause::On { by: Operator::new("alice", "why"), since: Duration::from_secs(random.u64(0..100)) },
        1 => Pause::Off,
        _ => Pause::AsBefore,
    };
    drawn
}
