//! Deadlines by URL, bounded. In a process of their own: whoever clears a gate empties every map.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use forbear_core::deadlines::{Deadlines, UrlKey};
use forbear_core::time::Monotonic;

fn at(seconds: u64) -> Monotonic {
    Monotonic::ORIGIN.after(Duration::from_secs(seconds))
}

fn key(deadlines: &Deadlines, url: u64, authority: u64) -> UrlKey {
    deadlines.key(&format!("https://h{authority}.example/{url}").parse().unwrap(), None, None)
}

#[test]
fn the_same_logical_request_does_not_move_a_deadline_that_stands() {
    let deadlines = Deadlines::new(10);
    assert!(deadlines.is_empty());
    deadlines.record(key(&deadlines, 1, 1), at(10), false, at(0));
    deadlines.record(key(&deadlines, 1, 1), at(99), true, at(5));
    assert_eq!(deadlines.get(key(&deadlines, 1, 1), at(5)), Some(at(10)));
    deadlines.record(key(&deadlines, 1, 1), at(20), false, at(5));
    assert_eq!(deadlines.get(key(&deadlines, 1, 1), at(5)), Some(at(20)));
    assert_eq!(deadlines.get(key(&deadlines, 1, 1), at(20)), None);
    deadlines.record(key(&deadlines, 1, 1), at(40), true, at(30));
    assert_eq!(deadlines.get(key(&deadlines, 1, 1), at(30)), Some(at(40)));
    assert_eq!(deadlines.get(key(&deadlines, 2, 1), at(30)), None);
}

#[test]
fn a_full_map_records_by_authority_and_evicts_nothing_active() {
    let deadlines = Deadlines::new(2);
    for url in 1..=2 {
        deadlines.record(key(&deadlines, url, 7), at(100), false, at(0));
    }
    deadlines.record(key(&deadlines, 3, 8), at(50), false, at(1));
    assert_eq!(deadlines.overflows(), 1);
    assert_eq!(deadlines.get(key(&deadlines, 1, 7), at(2)), Some(at(100)));
    assert_eq!(deadlines.get(key(&deadlines, 4, 8), at(2)), Some(at(50)));
    assert_eq!(deadlines.get(key(&deadlines, 4, 9), at(2)), None);
    deadlines.record(key(&deadlines, 5, 9), at(300), false, at(200));
    assert_eq!(deadlines.overflows(), 1);
    assert_eq!(deadlines.get(key(&deadlines, 5, 9), at(201)), Some(at(300)));
}

#[test]
fn a_full_map_is_not_looked_through_for_every_signal() {
    let deadlines = Deadlines::new(2);
    deadlines.record(key(&deadlines, 1, 7), at(100), false, at(0));
    let soon = at(0).after(Duration::from_millis(1100));
    deadlines.record(key(&deadlines, 2, 7), soon, false, at(0));
    deadlines.record(key(&deadlines, 3, 8), at(100), false, at(1));
    // The second has lapsed, but the map was looked through a moment ago.
    deadlines.record(key(&deadlines, 4, 9), at(100), false, soon);
    assert_eq!((deadlines.overflows(), deadlines.get(key(&deadlines, 4, 9), soon)), (2, Some(at(100))));
    deadlines.record(key(&deadlines, 5, 9), at(100), false, at(2));
    assert_eq!((deadlines.overflows(), deadlines.get(key(&deadlines, 5, 9), at(2))), (2, Some(at(100))));
}

#[test]
fn a_deadline_is_over_at_its_very_moment() {
    let deadlines = Deadlines::new(2);
    deadlines.record(key(&deadlines, 1, 7), at(10), false, at(0));
    deadlines.record(key(&deadlines, 2, 7), at(99), false, at(0));
    assert_eq!(
        (deadlines.get(key(&deadlines, 1, 7), at(10)), deadlines.get(key(&deadlines, 2, 7), at(10))),
        (None, Some(at(99)))
    );
    deadlines.record(key(&deadlines, 1, 7), at(40), true, at(10));
    assert_eq!(deadlines.get(key(&deadlines, 1, 7), at(10)), Some(at(40)));
    deadlines.charge(key(&deadlines, 1, 7), &"quotes".into(), at(10), at(10));
    assert_eq!(deadlines.family(key(&deadlines, 1, 7)), None);
    // In a full map it makes room.
    deadlines.record(key(&deadlines, 3, 8), at(50), false, at(40));
    assert_eq!((deadlines.overflows(), deadlines.get(key(&deadlines, 3, 8), at(40))), (0, Some(at(50))));
}

#[test]
fn authorities_beyond_the_most_share_a_deadline_until_others_are_over() {
    let deadlines = Deadlines::new(0);
    deadlines.record(key(&deadlines, 1, 0), at(200), false, at(0));
    let most = 10_000;
    (1..most).for_each(|authority| deadlines.record(key(&deadlines, 1, authority), at(100), false, at(0)));
    assert_eq!(deadlines.get(key(&deadlines, 1, most), at(0)), None);
    deadlines.record(key(&deadlines, 1, most), at(50), false, at(0));
    assert_eq!(deadlines.get(key(&deadlines, 1, most + 1), at(0)), Some(at(50)));
    deadlines.record(key(&deadlines, 1, most), at(300), false, at(100));
    assert_eq!(deadlines.get(key(&deadlines, 1, most + 1), at(100)), None);
    let known = [0, 1, most].map(|authority| deadlines.get(key(&deadlines, 9, authority), at(100)));
    assert_eq!(known, [Some(at(200)), None, Some(at(300))]);
}

#[test]
fn clearing_empties_it() {
    let deadlines = Deadlines::new(2);
    deadlines.record(key(&deadlines, 1, 7), at(100), false, at(0));
    deadlines.charge(key(&deadlines, 1, 7), &"quotes".into(), at(100), at(0));
    assert_eq!(deadlines.family(key(&deadlines, 1, 7)).as_deref(), Some("quotes"));
    deadlines.clear();
    assert!(deadlines.is_empty());
    assert_eq!(deadlines.get(key(&deadlines, 1, 7), at(2)), None);
    assert_eq!(deadlines.family(key(&deadlines, 1, 7)), None);
}
