//! Whose turn it is: families by weight, of each family its sources by priority, each within its drain.

use std::sync::Arc;
use std::time::Duration;

use forbear_core::time::Monotonic;
use forbear_core::work::Stamp;

/// All that decides who begins next. It knows no store and no gate.
#[derive(Debug)]
pub(super) struct Plan {
    lines: Vec<Line>,
    turns: Vec<Turn>,
    tick: Duration,
    /// How many runs may be in flight, in all and of one family.
    most: usize,
    most_of_one: usize,
    flying: usize,
    /// The share of who was served last: nobody is served for the time in which it wanted nothing.
    served: f64,
}

/// One family.
#[derive(Debug)]
struct Line {
    family: Arc<str>,
    weight: f64,
    drain: u32,
    share: f64,
    tick_from: Monotonic,
    begun: u32,
    flying: usize,
    /// Nothing begins before, whatever its gate says.
    shut: Option<Monotonic>,
    /// The end of the cool-down that was seen last, and when this process goes on.
    opens: Option<(Monotonic, Monotonic)>,
}

/// One source.
#[derive(Debug)]
struct Turn {
    line: usize,
    weight: f64,
    share: f64,
    served: f64,
    next: Next,
    /// Whether nothing was there when it was said to be due.
    disappointed: bool,
}

/// When the next key of a source can be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The store is to be asked.
    Unknown,
    At(Stamp),
    Never,
}

/// Whether a family may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stand {
    Open,
    /// It recovers: one at a time.
    Recovering,
    /// One alone may find out.
    Probing,
    /// Not before then, where that is known.
    Closed(Option<Monotonic>),
}

/// What may begin now, and when to look again where nothing happens before.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Grants {
    /// Sources, and how many keys of each.
    pub(super) sources: Vec<(usize, usize)>,
    pub(super) wake: Option<Monotonic>,
}

impl Plan {
    /// `families` with their weights, and for each source its family's place, its priority and its drain.
    pub(super) fn new(
        families: Vec<(Arc<str>, u32)>,
        sources: &[(usize, u32, u32)],
        (tick, most): (Duration, usize),
    ) -> Self {
        let most_of_one = if families.len() > 1 { most.div_ceil(2) } else { most };
        let drain = |line| sources.iter().filter(|(of, ..)| *of == line).map(|(.., drain)| *drain).max();
        let lines = families.into_iter().enumerate().map(|(at, (family, weight))| Line {
            family,
            weight: f64::from(weight.max(1)),
            drain: drain(at).unwrap_or(1),
            share: 0.0,
            tick_from: Monotonic::ORIGIN,
            begun: 0,
            flying: 0,
            shut: None,
            opens: None,
        });
        let turns = sources.iter().map(|(line, priority, _)| Turn {
            line: *line,
            weight: f64::from((*priority).max(1)),
            share: 0.0,
            served: 0.0,
            next: Next::Unknown,
            disappointed: false,
        });
        Self {
            lines: lines.collect(),
            turns: turns.collect(),
            tick,
            most,
            most_of_one,
            flying: 0,
            served: 0.0,
        }
    }

    /// Sources whose next key is to be asked for.
    pub(super) fn unknown(&self) -> impl Iterator<Item = usize> {
        self.turns.iter().enumerate().filter(|(_, turn)| turn.next == Next::Unknown).map(|(at, _)| at)
    }

    pub(super) fn ask_again(&mut self, source: usize) {
        if let Some(turn) = self.turns.get_mut(source) {
            (turn.next, turn.disappointed) = (Next::Unknown, false);
        }
    }

    pub(super) fn ask_all_again(&mut self) {
        self.turns.iter_mut().for_each(|turn| turn.next = Next::Unknown);
    }

    /// What the store says of a source.
    pub(super) fn is_next(&mut self, source: usize, next: Option<Stamp>, now: Stamp) {
        let Some(turn) = self.turns.get_mut(source) else { return };
        turn.next = match next {
            None => Next::Never,
            // Its store says that something is due, and gives nothing: not asked all the time.
            Some(at) if at <= now && turn.disappointed => Next::At(now.after(Duration::from_secs(1))),
            Some(at) => Next::At(at),
        };
        turn.disappointed = false;
    }

    /// A key of a source is due then.
    pub(super) fn is_due(&mut self, source: usize, at: Stamp) {
        let Some(turn) = self.turns.get_mut(source) else { return };
        turn.next = match turn.next {
            Next::Unknown => Next::Unknown,
            Next::At(next) => Next::At(next.min(at)),
            Next::Never => Next::At(at),
        };
    }

    /// So many runs of a source began, of those that were granted.
    pub(super) fn began(&mut self, source: usize, (granted, began): (usize, usize), now: Monotonic) {
        let Some(turn) = self.turns.get_mut(source) else { return };
        turn.disappointed = began == 0;
        if began < granted {
            turn.next = Next::Unknown;
        }
        let unused = as_share(granted.saturating_sub(began));
        turn.share -= unused / turn.weight;
        let Some(line) = self.lines.get_mut(turn.line) else { return };
        line.share -= unused / line.weight;
        line.begin_tick(now, self.tick);
        line.begun = line.begun.saturating_add(u32::try_from(began).unwrap_or(u32::MAX));
        line.flying += began;
        self.flying += began;
    }

    /// A run of a source is over.
    pub(super) fn ended(&mut self, source: usize) {
        self.flying = self.flying.saturating_sub(1);
        if let Some(line) = self.line(source) {
            line.flying = line.flying.saturating_sub(1);
        }
    }

    /// The family of a source said that it is not to be called before.
    pub(super) fn shut(&mut self, source: usize, until: Monotonic) {
        if let Some(line) = self.line(source) {
            line.shut = Some(line.shut.map_or(until, |shut| shut.max(until)));
        }
    }

    /// The gate of a family said something: what it said before does not hold any more.
    pub(super) fn hear(&mut self, family: &str) {
        for line in self.lines.iter_mut().filter(|line| *line.family == *family) {
            (line.shut, line.opens) = (None, None);
        }
    }

    fn line(&mut self, source: usize) -> Option<&mut Line> {
        let line = self.turns.get(source)?.line;
        self.lines.get_mut(line)
    }

    /// Who begins now. `stands` tells whether a family may be called; `draw` is from 0 to 1.
    pub(super) fn grants(
        &mut self,
        mut stands: impl FnMut(&str) -> Stand,
        mut draw: impl FnMut() -> f64,
        (now, stamp): (Monotonic, Stamp),
    ) -> Grants {
        let mut grants = Grants::default();
        let mut room = vec![0; self.lines.len()];
        for (at, room) in room.iter_mut().enumerate() {
            let Some(line) = self.lines.get_mut(at) else { continue };
            let turns = self.turns.iter().filter(|turn| turn.line == at);
            let due = turns.filter_map(|turn| match turn.next {
                Next::At(due) => Some(due),
                Next::Unknown | Next::Never => None,
            });
            let Some(due) = due.min() else { continue };
            if due > stamp {
                grants.wake_at(now.after(due.since(stamp)));
                continue;
            }
            line.begin_tick(now, self.tick);
            match line.room(stands(&line.family), &mut draw, now) {
                Ok(free) => *room = free.min(self.most_of_one.saturating_sub(line.flying)),
                Err(Some(until)) => grants.wake_at(until),
                Err(None) => {}
            }
            if line.begun > 0 {
                grants.wake_at(line.tick_from.after(self.tick));
            }
        }
        let mut free = self.most.saturating_sub(self.flying);
        let mut granted = vec![0_usize; self.turns.len()];
        while free > 0 {
            let Some(line) = self.next_line(&room) else { break };
            let Some(turn) = self.next_turn(line, stamp) else { break };
            free -= 1;
            self.serve(line, turn);
            if let (Some(room), Some(granted)) = (room.get_mut(line), granted.get_mut(turn)) {
                *room -= 1;
                *granted += 1;
            }
        }
        grants.sources = granted.into_iter().enumerate().filter(|(_, granted)| *granted > 0).collect();
        grants
    }

    /// Of the families with room, the one that had least of its share.
    fn next_line(&self, room: &[usize]) -> Option<usize> {
        let with_room =
            self.lines.iter().enumerate().filter(|(at, _)| room.get(*at).is_some_and(|room| *room > 0));
        let least = with_room.min_by(|(_, one), (_, other)| {
            one.share.max(self.served).total_cmp(&other.share.max(self.served))
        });
        least.map(|(at, _)| at)
    }

    /// Of its sources with something due, the one that had least of its share.
    fn next_turn(&self, line: usize, stamp: Stamp) -> Option<usize> {
        let due = |turn: &Turn| matches!(turn.next, Next::At(at) if at <= stamp);
        let turns = self.turns.iter().enumerate().filter(|(_, turn)| turn.line == line && due(turn));
        let least = turns.min_by(|(_, one), (_, other)| {
            one.share.max(one.served).total_cmp(&other.share.max(other.served))
        });
        least.map(|(at, _)| at)
    }

    fn serve(&mut self, line: usize, turn: usize) {
        let Some(family) = self.lines.get_mut(line) else { return };
        self.served = family.share.max(self.served);
        family.share = self.served + 1.0 / family.weight;
        let Some(source) = self.turns.get_mut(turn) else { return };
        let served = source.share.max(source.served);
        source.share = served + 1.0 / source.weight;
        for other in self.turns.iter_mut().filter(|other| other.line == line) {
            other.served = served;
        }
    }
}

impl Line {
    fn begin_tick(&mut self, now: Monotonic, tick: Duration) {
        if now >= self.tick_from.after(tick) {
            (self.tick_from, self.begun) = (now, 0);
        }
    }

    /// How many may begin; where none, when to look again.
    fn room(
        &mut self,
        stand: Stand,
        draw: &mut impl FnMut() -> f64,
        now: Monotonic,
    ) -> Result<usize, Option<Monotonic>> {
        if let Some(shut) = self.shut {
            if now < shut {
                return Err(Some(shut));
            }
            self.shut = None;
        }
        let left = usize::try_from(self.drain.saturating_sub(self.begun)).unwrap_or(usize::MAX);
        if let Stand::Closed(until) = stand {
            let Some(until) = until else { return Err(None) };
            let known = self.opens.filter(|(end, _)| *end == until);
            let (_, opens) =
                *self.opens.insert(known.unwrap_or_else(|| (until, jittered(until, now, draw()))));
            return Err(Some(opens));
        }
        // The cool-down is over; this process goes on a little later, and not at the same moment as others.
        if let Some((_, opens)) = self.opens {
            if now < opens {
                return Err(Some(opens));
            }
            self.opens = None;
        }
        match stand {
            Stand::Open => Ok(left),
            Stand::Recovering => Ok(left.min(1_usize.saturating_sub(self.begun as usize))),
            _ if self.flying > 0 => Err(None),
            _ => Ok(left.min(1)),
        }
    }
}

impl Grants {
    fn wake_at(&mut self, at: Monotonic) {
        self.wake = Some(self.wake.map_or(at, |wake| wake.min(at)));
    }
}

/// A little later than `until`: up to a tenth of the wait, at most 1 s.
pub(super) fn jittered(until: Monotonic, now: Monotonic, draw: f64) -> Monotonic {
    let most = (until.since(now) / 10).min(Duration::from_secs(1));
    until.after(most.mul_f64(draw.clamp(0.0, 1.0)))
}

#[expect(clippy::cast_precision_loss, reason = "nobody has 2^52 runs in flight")]
fn as_share(runs: usize) -> f64 {
    runs as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(100);
    const DUE: Stamp = Stamp::EPOCH;

    fn at(millis: u64) -> (Monotonic, Stamp) {
        (Monotonic::ORIGIN.after(Duration::from_millis(millis)), Stamp::from_millis(millis))
    }

    /// One source with something due for each family: its weight, its drain.
    fn plan(families: &[(u32, u32)], most: usize) -> Plan {
        let named = families.iter().enumerate().map(|(n, (weight, _))| (format!("f{n}").into(), *weight));
        let sources: Vec<_> = families.iter().enumerate().map(|(n, (_, drain))| (n, 1, *drain)).collect();
        let mut plan = Plan::new(named.collect(), &sources, (TICK, most));
        (0..families.len()).for_each(|source| plan.is_next(source, Some(DUE), at(0).1));
        plan
    }

    /// All that was granted began.
    fn begin(plan: &mut Plan, stand: Stand, millis: u64) -> Grants {
        let grants = plan.grants(|_| stand, || 0.5, at(millis));
        grants
            .sources
            .iter()
            .for_each(|(source, granted)| plan.began(*source, (*granted, *granted), at(millis).0));
        grants
    }

    #[test]
    fn a_drain_begins_anew_with_each_tick() {
        let mut plan = plan(&[(1, 3)], 16);
        assert_eq!(begin(&mut plan, Stand::Open, 1_000).sources, [(0, 3)]);
        let used_up = begin(&mut plan, Stand::Open, 1_050);
        assert_eq!((used_up.sources, used_up.wake), (vec![], Some(at(1_100).0)));
        assert_eq!(begin(&mut plan, Stand::Open, 1_100).sources, [(0, 3)]);
    }

    #[test]
    fn sources_of_a_family_share_the_largest_drain_of_theirs() {
        let mut plan = Plan::new(vec![("f".into(), 1)], &[(0, 1, 2), (0, 1, 5)], (TICK, 16));
        (0..2).for_each(|source| plan.is_next(source, Some(DUE), at(0).1));
        let begun: usize =
            begin(&mut plan, Stand::Open, 1_000).sources.iter().map(|(_, granted)| granted).sum();
        assert_eq!(begun, 5);
    }

    #[test]
    fn a_source_with_nothing_due_takes_no_part_of_the_drain() {
        let mut plan = Plan::new(vec![("f".into(), 1)], &[(0, 1, 4), (0, 1, 4)], (TICK, 16));
        plan.is_next(0, Some(DUE), at(0).1);
        plan.is_next(1, Some(at(90_000).1), at(0).1);
        assert_eq!(begin(&mut plan, Stand::Open, 1_000).sources, [(0, 4)]);
    }

    #[test]
    fn what_did_not_begin_is_no_ones_share() {
        let mut plan = plan(&[(1, 100), (1, 100)], 8);
        let grants = plan.grants(|_| Stand::Open, || 0.5, at(1_000));
        assert_eq!(grants.sources, [(0, 4), (1, 4)]);
        plan.began(0, (4, 0), at(1_000).0);
        plan.began(1, (4, 4), at(1_000).0);
        assert_eq!(plan.unknown().collect::<Vec<_>>(), [0]);
        plan.is_next(0, Some(at(2_000).1), at(1_000).1);
        // The other may have half, and has it: it waits for the end of a run.
        let waits = begin(&mut plan, Stand::Open, 1_100);
        assert_eq!((waits.sources, waits.wake), (vec![], Some(at(2_000).0)));
    }

    /// The first runs a hundred times while the second wants nothing; from then on they take turns.
    #[track_caller]
    fn saved_nothing(mut plan: Plan) {
        for n in 0..100 {
            assert_eq!(begin(&mut plan, Stand::Open, 1_000 + n * 100).sources, [(0, 1)]);
            plan.ended(0);
        }
        plan.is_due(1, DUE);
        let mut served = [0, 0];
        for n in 0..20 {
            for (source, _) in begin(&mut plan, Stand::Open, 20_000 + n * 100).sources {
                served[source] += 1;
                plan.ended(source);
            }
        }
        assert_eq!(served, [10, 10]);
    }

    #[test]
    fn a_family_that_wanted_nothing_has_saved_nothing() {
        let mut plan = plan(&[(1, 1_000), (1, 1_000)], 1);
        plan.is_next(1, None, at(0).1);
        saved_nothing(plan);
    }

    #[test]
    fn a_source_that_wanted_nothing_has_saved_nothing() {
        let mut plan = Plan::new(vec![("f".into(), 1)], &[(0, 1, 1_000), (0, 1, 1_000)], (TICK, 1));
        plan.is_next(0, Some(DUE), at(0).1);
        plan.is_next(1, None, at(0).1);
        saved_nothing(plan);
    }

    #[test]
    fn a_closed_family_is_looked_at_a_little_after_it_opens() {
        let mut plan = plan(&[(1, 5)], 16);
        let until = at(11_000).0;
        let closed = begin(&mut plan, Stand::Closed(Some(until)), 1_000);
        assert_eq!(
            (closed.sources, closed.wake),
            (vec![], Some(at(11_500).0)),
            "a tenth, at most 1 s, half of it drawn"
        );
        assert_eq!(begin(&mut plan, Stand::Probing, 11_200).wake, Some(at(11_500).0));
        assert_eq!(begin(&mut plan, Stand::Probing, 11_500).sources, [(0, 1)]);
        assert_eq!(begin(&mut plan, Stand::Probing, 11_600).sources, [], "one is out");
        plan.ended(0);
        assert_eq!(begin(&mut plan, Stand::Recovering, 11_700).sources, [(0, 1)]);
        let recovering = begin(&mut plan, Stand::Recovering, 11_750);
        assert_eq!((recovering.sources, recovering.wake), (vec![], Some(at(11_800).0)));
        // Somebody cleared it: what was said before does not hold.
        plan.shut(0, at(90_000).0);
        assert_eq!(begin(&mut plan, Stand::Open, 12_000).wake, Some(at(90_000).0));
        plan.hear("f0");
        assert_eq!(begin(&mut plan, Stand::Open, 12_100).sources, [(0, 5)]);
    }

    #[test]
    fn a_store_that_promises_and_gives_nothing_is_asked_once_a_second() {
        let mut plan = plan(&[(1, 5)], 16);
        let grants = plan.grants(|_| Stand::Open, || 0.5, at(1_000));
        plan.began(0, (grants.sources[0].1, 0), at(1_000).0);
        plan.is_next(0, Some(DUE), at(1_000).1);
        let waits = begin(&mut plan, Stand::Open, 1_000);
        assert_eq!((waits.sources, waits.wake), (vec![], Some(at(2_000).0)));
    }
}
