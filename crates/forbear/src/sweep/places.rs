//! Who has how many of the places: a family that is slow leaves half of them to others.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use forbear_core::families::Member;
use http::Uri;

use super::item::Item;

/// Whose places an item takes: those of a registered family, of a host, or of nobody who is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) struct Line(u64);

impl Line {
    pub(super) fn of_family(member: &Member) -> Self {
        Self::of(|hasher| member.gate.name().hash(hasher))
    }

    /// That of a host, whether or not it has a family by now.
    pub(super) fn of_host(uri: &Uri, host: Option<&str>) -> Self {
        let host = uri.authority().map_or(host.unwrap_or_default(), |authority| authority.as_str());
        // Unlike every name.
        Self::of(|hasher| (0_u8, host.to_ascii_lowercase()).hash(hasher))
    }

    fn of(hash: impl FnOnce(&mut DefaultHasher)) -> Self {
        let mut hasher = DefaultHasher::new();
        hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// The places. Once items of several families were seen none has more than half, unless nobody else wants them; what is taken beyond
/// that waits here, in its order. Memory: those items, and a count for each family on its way.
pub(super) struct Places<T> {
    half: usize,
    lines: BTreeMap<Line, Taken<T>>,
    first: Option<Line>,
    several: bool,
    waiting: usize,
}

/// What a line has.
struct Taken<T> {
    flying: usize,
    waiting: BTreeMap<u64, Item<T>>,
}

impl<T> Places<T> {
    pub(super) const fn new(all: usize) -> Self {
        Self { half: all.div_ceil(2), lines: BTreeMap::new(), first: None, several: false, waiting: 0 }
    }

    /// How many items wait for a place.
    pub(super) const fn len(&self) -> usize {
        self.waiting
    }

    /// An item of this line was taken.
    pub(super) fn sees(&mut self, line: Line) {
        if line == Line::default() {
            return;
        }
        self.several |= *self.first.get_or_insert(line) != line;
    }

    /// Whether a place that is free is for this line; `last` where no further item comes.
    pub(super) fn are_for(&self, line: Line, last: bool) -> bool {
        let flying = self.lines.get(&line).map_or(0, |taken| taken.flying);
        !self.several || flying < self.half || (last && !self.others_wait(line))
    }

    pub(super) fn begins(&mut self, line: Line) {
        let flying = &mut self.line(line).flying;
        *flying = flying.saturating_add(1);
    }

    pub(super) fn ends(&mut self, line: Line) {
        let flying = &mut self.line(line).flying;
        *flying = flying.saturating_sub(1);
        self.tidy(line);
    }

    /// Nothing flies any more.
    pub(super) fn all_end(&mut self) {
        self.lines.retain(|_, taken| {
            taken.flying = 0;
            !taken.waiting.is_empty()
        });
    }

    pub(super) fn hold(&mut self, item: Item<T>) {
        let waiting = &mut self.line(item.line).waiting;
        waiting.insert(item.number, item);
        self.waiting = self.waiting.saturating_add(1);
    }

    /// The next item for which there is a place: of the line that has fewest.
    pub(super) fn next(&mut self, last: bool) -> Option<Item<T>> {
        if self.waiting == 0 {
            return None;
        }
        let waiting = self.lines.iter().filter(|(_, taken)| !taken.waiting.is_empty());
        let (line, _) = waiting.min_by_key(|(_, taken)| taken.flying)?;
        let line = *line;
        if !self.are_for(line, last) {
            return None;
        }
        let (_, item) = self.lines.get_mut(&line)?.waiting.pop_first()?;
        self.waiting = self.waiting.saturating_sub(1);
        self.tidy(line);
        Some(item)
    }

    /// Lets go of all that wait.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Item<T>> + use<T> {
        self.waiting = 0;
        let waiting: Vec<_> =
            self.lines.values_mut().map(|taken| std::mem::take(&mut taken.waiting)).collect();
        self.lines.retain(|_, taken| taken.flying > 0);
        waiting.into_iter().flat_map(BTreeMap::into_values)
    }

    fn others_wait(&self, line: Line) -> bool {
        let own = self.lines.get(&line).map_or(0, |taken| taken.waiting.len());
        self.waiting > own
    }

    fn line(&mut self, line: Line) -> &mut Taken<T> {
        self.lines.entry(line).or_insert_with(|| Taken { flying: 0, waiting: BTreeMap::new() })
    }

    fn tidy(&mut self, line: Line) {
        if self.lines.get(&line).is_some_and(|taken| taken.flying == 0 && taken.waiting.is_empty()) {
            self.lines.remove(&line);
        }
    }
}
