//! A route that is refused again and again while the rest of its family is served.
//!
//! Left in the family it would close it for everybody each time it is called. So it gets a gate of its own until it is
//! accepted.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::partition::Partition;
use crate::signal::clean;
use crate::time::Monotonic;

use super::engine::Gate;
use super::event::{Event, Observed, Outcome};
use super::state::State;
use super::ticket::Ticket;

/// Refused so often running, each time after another route was accepted, a route is dead.
const DEAD: u8 = 3;
/// So many routes are watched; the one that was refused longest ago makes room.
const WATCHED: usize = 8;
/// So many routes of a family may be apart from it.
const APART: usize = 64;

/// The routes of a family that were refused of late, and those that are apart from it.
#[derive(Debug, Default)]
pub(super) struct Routes {
    watched: Vec<Watched>,
    apart: Vec<Partition>,
}

#[derive(Debug)]
struct Watched {
    route: Partition,
    /// How often it was refused running, each time after another route was accepted.
    refused: u8,
    /// Whether another route was accepted since its last refusal.
    others_accepted: bool,
}

impl Routes {
    /// A route was refused. True where it is dead.
    fn refused(&mut self, route: Partition) -> bool {
        let at = self.watched.iter().position(|watched| watched.route == route);
        let mut this = match at {
            Some(at) => self.watched.remove(at),
            None => Watched { route, refused: 0, others_accepted: true },
        };
        if this.others_accepted {
            this.refused = this.refused.saturating_add(1);
            this.others_accepted = false;
        }
        if this.refused >= DEAD && self.apart.len() < APART {
            self.apart.push(route);
            return true;
        }
        if self.watched.len() >= WATCHED {
            self.watched.remove(0);
        }
        self.watched.push(this);
        false
    }

    /// A route was accepted: it is like any other, and another one to all others.
    fn accepted(&mut self, route: Partition) {
        self.watched.retain(|watched| watched.route != route);
        self.apart.retain(|apart| *apart != route);
        self.watched.iter_mut().for_each(|watched| watched.others_accepted = true);
    }

    /// A bit for each route here, so that a call to another one costs a look at one word; all bits while it matters whether
    /// any route is accepted.
    fn bits(&self) -> u64 {
        if self.watched.iter().any(|watched| !watched.others_accepted) {
            return u64::MAX;
        }
        let routes = self.watched.iter().map(|watched| watched.route).chain(self.apart.iter().copied());
        routes.fold(0, |bits, route| bits | bit(route))
    }
}

fn bit(route: Partition) -> u64 {
    1 << (route.hashed() & 63)
}

impl State {
    /// A signal of the current generation met `route`. True where the route is dead: then the family is as an operator's
    /// clear leaves it, and the route has to be struck by itself.
    pub(super) fn route_refused(&mut self, route: &str, now: Monotonic) -> bool {
        let dead = self.routes.refused(Partition::of_route(route));
        if dead {
            self.events.push(Event::DeadRoute { route: clean(route, 64).into() });
            self.forgive(now);
        }
        dead
    }
}

/// A route whose acceptance matters: [`Gate::route_accepted`] is to be told of it.
#[derive(Debug)]
pub struct Suspect {
    /// What it is known by.
    pub route: Partition,
    /// Its own gate, where it is apart.
    pub gate: Option<Arc<Gate>>,
}

impl Gate {
    /// Whether any route of the family was refused of late, so that [`Gate::suspect`] is to be asked: one atomic load.
    #[must_use]
    #[inline]
    pub fn has_suspects(&self) -> bool {
        self.suspects.load(Ordering::Acquire) != 0
    }

    /// Whether it matters that `path` is accepted, or refused. Who never asks has no dead routes.
    #[must_use]
    #[cold]
    pub fn suspect(&self, path: &str) -> Option<Suspect> {
        let route = Partition::of_route(path);
        (self.suspects.load(Ordering::Acquire) & bit(route) != 0)
            .then(|| Suspect { route, gate: self.partition(route) })
    }

    /// An attempt on `path` got a good answer: where it was apart, it is a route of its family again.
    pub fn route_accepted(&self, path: &str) {
        let route = Partition::of_route(path);
        let ((), _) = self.with(|state| state.routes.accepted(route));
        if let Some(partitions) = self.partitions.get() {
            let _ = partitions.take(&route);
        }
    }

    /// Strikes a route that is dead from now on, at a gate of its own.
    pub(super) fn strike_apart(
        &self,
        ticket: &Ticket,
        outcome: Outcome<'_>,
        now: Monotonic,
    ) -> Option<Observed> {
        let Outcome::Bad(_, path) = outcome else { return None };
        let label = format!("route {}", clean(path, 64));
        // It is apart for as long as its family remembers the route, which is this process's life.
        let apart = self.partition_unkept(Partition::of_route(path), label.trim_end(), now);
        let mut observed = apart.observe(&apart.foreign(ticket.sent), outcome, now);
        observed.apart = Some(apart);
        Some(observed)
    }

    /// What the happy path reads of the routes.
    pub(super) fn publish_routes(&self, state: &State) {
        self.suspects.store(state.routes.bits(), Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_is_dead_at_its_third_refusal_with_others_accepted_between() {
        let mut routes = Routes::default();
        let (dead, well) = (Partition::of_route("/dead"), Partition::of_route("/well"));
        assert!(!routes.refused(dead));
        // Nobody was accepted in between: no news of the route. But it matters who is.
        assert!(!routes.refused(dead) && !routes.refused(dead) && !routes.refused(dead));
        assert_eq!(routes.bits(), u64::MAX);
        routes.accepted(well);
        assert_eq!(routes.bits(), bit(dead));
        assert!(!routes.refused(dead));
        routes.accepted(well);
        assert!(routes.refused(dead));
        assert!(routes.bits() == bit(dead) && routes.apart == [dead]);
        routes.accepted(dead);
        assert_eq!(routes.bits(), 0);
    }

    #[test]
    fn every_route_has_a_bit_also_where_two_have_the_same() {
        let route = |number: u32| Partition::of_route(&format!("/items/{number}"));
        let (one, other) = (route(0), route(1));
        let same = (2..).map(route).find(|same| bit(*same) == bit(one)).unwrap();
        let mut routes = Routes::default();
        for refused in [one, other, same] {
            let _ = routes.refused(refused);
        }
        routes.accepted(route(1_000_000));
        assert_eq!(routes.bits(), bit(one) | bit(other));
        assert!((0..1000).fold(0, |bits, number| bits | bit(route(number))) == u64::MAX);
    }

    #[test]
    fn one_that_is_accepted_itself_begins_anew() {
        let mut routes = Routes::default();
        let (one, other) = (Partition::of_route("/one"), Partition::of_route("/other"));
        for _ in 0..10 {
            for _ in 0..2 {
                assert!(!routes.refused(one));
                routes.accepted(other);
            }
            routes.accepted(one);
        }
    }

    #[test]
    fn refusals_of_many_routes_kill_none_and_all_is_bounded() {
        let mut routes = Routes::default();
        let route = |number: i32| Partition::of_route(&format!("/items/{number}"));
        for number in 0..100 {
            assert!(!routes.refused(route(number)));
            routes.accepted(route(-1));
        }
        assert_eq!(routes.watched.len(), WATCHED);
        for number in 0..100 {
            for _ in 0..3 {
                let _ = routes.refused(route(number));
                routes.accepted(route(-1));
            }
        }
        assert_eq!((routes.apart.len(), routes.watched.len()), (APART, WATCHED));
    }
}
