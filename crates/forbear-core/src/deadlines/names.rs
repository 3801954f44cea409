use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;

use crate::time::Monotonic;

/// So many URLs' families are remembered by name.
const MOST: usize = 10_000;

/// Which family a URL was charged to, so that a refusal names it; bounded. A URL that found no room has a deadline all
/// the same.
#[derive(Debug, Default)]
pub(super) struct Names {
    of: HashMap<u64, (Arc<str>, Monotonic), RandomState>,
    /// No name is over before.
    sweep_from: Monotonic,
}

impl Names {
    pub(super) fn get(&self, url: u64) -> Option<Arc<str>> {
        self.of.get(&url).map(|(family, _)| Arc::clone(family))
    }

    pub(super) fn insert(&mut self, url: u64, family: &Arc<str>, until: Monotonic, now: Monotonic) {
        if self.of.len() >= MOST && now >= self.sweep_from {
            self.of.retain(|_, (_, until)| *until > now);
            self.sweep_from = self.of.values().map(|(_, until)| *until).min().unwrap_or(now);
        }
        if self.of.len() < MOST || self.of.contains_key(&url) {
            let (known, last) = self.of.entry(url).or_insert_with(|| (Arc::clone(family), until));
            (*known, *last) = (Arc::clone(family), until.max(*last));
            self.sweep_from = self.sweep_from.min(until);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_over_makes_room_and_nothing_else_does() {
        let at = |seconds| Monotonic::ORIGIN.after(Duration::from_secs(seconds));
        let (quotes, search): (Arc<str>, Arc<str>) = ("quotes".into(), "search".into());
        let mut names = Names::default();
        let urls = 0..u64::try_from(MOST).unwrap();
        urls.clone().for_each(|url| names.insert(url, &quotes, at(10 + url), at(0)));
        names.insert(urls.end, &quotes, at(99), at(9));
        assert_eq!((names.get(urls.end), names.of.len()), (None, MOST));
        names.insert(7, &search, at(99), at(9));
        assert_eq!(names.get(7), Some(search));
        names.insert(urls.end, &quotes, at(99), at(10));
        assert_eq!((names.get(urls.end), names.get(0)), (Some(quotes), None));
    }
}
