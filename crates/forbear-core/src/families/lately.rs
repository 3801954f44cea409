//! The host that a thread asked for last: pacing and the gate ask for the same one within one attempt, and most clients call one
//! vendor many times in a row.

use std::cell::Cell;

thread_local! {
    static LATELY: Cell<usize> = const { Cell::new(0) };
}

/// Where this thread found a host last: a guess, in this table or another.
#[inline]
pub(super) fn place() -> usize {
    LATELY.get()
}

/// Notes where this thread found a host.
#[inline]
pub(super) fn note(place: usize) {
    LATELY.set(place);
}

#[cfg(test)]
mod tests {
    use http::Uri;

    use crate::families::{Families, FamiliesBuilder, Family, Found, Snapshot};
    use crate::time::Monotonic;

    fn families(families: impl IntoIterator<Item = Family>) -> Families {
        families.into_iter().fold(Families::builder(), FamiliesBuilder::family).build().unwrap()
    }

    #[track_caller]
    fn belongs(snapshot: &Snapshot, uri: &str, name: &str) {
        let uri: Uri = uri.parse().unwrap();
        // Twice, so that it is the one that was asked for last.
        for _ in 0..2 {
            let Found::Member(member) = snapshot.find(&uri, None, None) else { panic!("{uri} is unknown") };
            assert_eq!(&**member.gate.name(), name, "{uri}");
        }
    }

    #[test]
    fn each_set_of_families_has_its_own_and_each_host_its_own() {
        let [a, b] =
            ["a", "b"].map(|name| families([Family::new(name).host("one.example").host("two.example")]));
        let more = families([Family::new("c").host("one.example"), Family::new("d").host("two.example")]);
        for _ in 0..3 {
            for (families, one, two) in [(&a, "a", "a"), (&b, "b", "b"), (&more, "c", "d")] {
                belongs(&families.snapshot(), "https://one.example/", one);
                belongs(&families.snapshot(), "https://two.example/x", two);
            }
        }
    }

    #[test]
    fn a_host_that_changed_hands_is_found_with_its_new_family() {
        let families = families([Family::new("a").host("one.example")]);
        let mut snapshot = families.snapshot();
        belongs(&snapshot, "https://one.example/", "a");
        families.set([Family::new("b").host("one.example")], Monotonic::ORIGIN).unwrap();
        snapshot.refresh();
        belongs(&snapshot, "https://one.example/", "b");
    }

    #[test]
    fn a_host_with_routes_is_looked_up_by_its_path_each_time() {
        let host = Family::new("host").host("one.example");
        let families = families([host, Family::new("route").route("one.example", "/v8/{*rest}")]);
        for _ in 0..3 {
            belongs(&families.snapshot(), "https://one.example/v1", "host");
            belongs(&families.snapshot(), "https://one.example/v8/x", "route");
        }
    }
}
