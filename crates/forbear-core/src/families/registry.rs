//! The families of a program, which may change while traffic flows.

use std::any::Any;
use std::sync::{Arc, OnceLock, PoisonError};

use http::Uri;

use crate::gate::{Gate, GateSettings, Listeners, RefusalCause};
use crate::host::Host;
use crate::living::{Id, Living};
use crate::stale::StaleCounts;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::{Mutex, MutexGuard, RwLock, of_the_process};
use crate::time::Monotonic;
use crate::url::RedactedUrl;

use super::automatic::Automatic;
use super::builder::{FamiliesBuilder, InvalidFamilies};
use super::family::{Family, FamilyName};
use super::table::{Member, Table};
pub use restore::Restored;

mod hand_over;
mod restore;
#[cfg(test)]
mod tests;

of_the_process! {
    /// All sets of families of the process.
    static REGISTRIES: Living<Registry> = Living::new();
}

/// The families of a program and where they stand. Clones share everything.
#[derive(Debug, Clone)]
pub struct Families(Arc<Registry>);

/// What a service looks its families up in: one table, exchanged when the families change.
#[derive(Debug, Clone)]
pub struct Snapshot {
    registry: Arc<Registry>,
    table: Arc<Table>,
}

/// Names a set of [`Families`] without holding it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FamiliesId(Id);

#[derive(Debug)]
struct Registry {
    id: Id,
    automatic: Automatic,
    listeners: Arc<Listeners>,
    /// Where callers wait that wait for a moment, and for no family's gate: always open.
    waiting_room: Arc<Gate>,
    /// Whether everything is only observed.
    shadow: AtomicBool,
    /// Requests that no family has, and that were refused, or would have been.
    unknown: AtomicU64,
    /// The version of the table that holds now: all that the happy path reads.
    version: AtomicU64,
    table: RwLock<Arc<Table>>,
    /// What the table is made of. Whoever changes the families holds this.
    defined: Mutex<FamiliesBuilder>,
    /// What ends with the families.
    companion: OnceLock<Arc<dyn Any + Send + Sync>>,
}

/// Where a request belongs.
#[derive(Debug)]
pub enum Found<'a> {
    /// A family that has state.
    Member(&'a Arc<Member>),
    /// An automatic family that has state.
    Automatic(Arc<Member>),
    /// A host without a family that never signalled a limit: send; [`FamiliesId::member_for`] makes its family where
    /// it does.
    Healthy,
    /// Send, and learn nothing from it.
    PassThrough,
    /// No family has this host or name, and it must not be sent.
    Unknown,
}

impl Families {
    /// Begins a set of families.
    pub fn builder() -> FamiliesBuilder {
        FamiliesBuilder::default()
    }

    pub(super) fn of(defined: FamiliesBuilder) -> Result<Self, InvalidFamilies> {
        let listeners: Arc<Listeners> = Arc::default();
        let table = table_of(&defined, &Table::default(), &listeners)?;
        Ok(Self(REGISTRIES.add(|id| Registry {
            id,
            automatic: Automatic::new(&listeners),
            waiting_room: waiting_room(&listeners),
            listeners,
            shadow: AtomicBool::new(false),
            unknown: AtomicU64::new(0),
            version: AtomicU64::new(table.version),
            table: RwLock::new(Arc::new(table)),
            defined: Mutex::new(defined),
            companion: OnceLock::new(),
        })))
    }

    /// What a service looks its families up in.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { registry: Arc::clone(&self.0), table: self.0.table() }
    }

    /// What [`Found::Healthy`] needs later.
    #[must_use]
    pub fn id(&self) -> FamiliesId {
        FamiliesId(self.0.id)
    }

    /// Adds a family while traffic flows. Where one of its hosts, by whatever it has it, cools as an automatic family, it
    /// begins with that cool-down.
    ///
    /// # Errors
    /// As [`FamiliesBuilder::build`]; also where a family of this name is there already. Then nothing changes.
    pub fn register(&self, family: Family, now: Monotonic) -> Result<(), InvalidFamilies> {
        self.0.change(now, |families| {
            if find(families, &family.name).is_ok() {
                let why = "is registered already; replace it, or give the other a name of its own";
                return Err(InvalidFamilies::new(&family.name, why));
            }
            families.push(family);
            Ok(())
        })
    }

    /// Gives the family of this name other hosts, settings or another dialect. Where it stands it keeps standing: a
    /// cool-down goes on, and callers that wait go on waiting.
    ///
    /// # Errors
    /// As [`FamiliesBuilder::build`]; also where no family has this name. Then nothing changes.
    pub fn replace(&self, family: Family, now: Monotonic) -> Result<(), InvalidFamilies> {
        self.0.change(now, |families| {
            let place = find(families, &family.name)?;
            if let Some(known) = families.get_mut(place) {
                *known = family;
            }
            Ok(())
        })
    }

    /// Removes a family: from now on its hosts are unknown. Callers that wait for it go on waiting, and are then treated
    /// by what holds for unknown hosts. Where that is [`Unknown::PerHost`](super::Unknown::PerHost), its hosts keep its
    /// cool-down as automatic families.
    ///
    /// # Errors
    /// Where no family has this name, or a URL that is [required](FamiliesBuilder::requires) would have none. Then
    /// nothing changes.
    pub fn remove(&self, name: &str, now: Monotonic) -> Result<(), InvalidFamilies> {
        self.0.change(now, |families| {
            let place = find(families, name)?;
            families.remove(place);
            Ok(())
        })
    }

    /// Registers, replaces and removes at once, as after a configuration was read again: these are the families from
    /// now on. One whose name stays keeps where it stands; where a name is gone, its cool-down goes to the families that
    /// have its hosts, suffixes or routes now.
    ///
    /// # Errors
    /// As [`FamiliesBuilder::build`]. Then nothing changes.
    pub fn set(
        &self,
        families: impl IntoIterator<Item = Family>,
        now: Monotonic,
    ) -> Result<(), InvalidFamilies> {
        self.0.change(now, |known| {
            *known = families.into_iter().collect();
            Ok(())
        })
    }

    /// Who is told what the gates have to say, and what they did.
    #[must_use]
    pub fn listeners(&self) -> &Listeners {
        &self.0.listeners
    }

    /// The registered family of this name, or the automatic one of this host.
    #[must_use]
    pub fn any(&self, name: &str) -> Option<Arc<Member>> {
        self.named(name).or_else(|| self.0.automatic.existing(name))
    }

    /// The registered family of this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<Arc<Member>> {
        self.0.table().named(name).cloned()
    }

    /// All families that have state: the registered ones in the order of their registration, then automatic ones by
    /// name.
    #[must_use]
    pub fn members(&self) -> Vec<Arc<Member>> {
        let mut automatic = self.0.automatic.members();
        automatic.sort_by(|one, other| one.gate.name().cmp(other.gate.name()));
        self.0.table().members.iter().cloned().chain(automatic).collect()
    }

    /// Gives them something that is dropped with them, such as what keeps them in a store. False where they have it already.
    pub fn accompany(&self, companion: Arc<dyn Any + Send + Sync>) -> bool {
        self.0.companion.set(companion).is_ok()
    }

    /// What was [given](Self::accompany), where it is of this type.
    #[must_use]
    pub fn companion<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.companion.get()?.downcast_ref()
    }

    /// Ends every wait: each caller is refused, and whoever would have to wait later is refused at once. What needs no
    /// wait goes on. How many waited; `None` where this was called before.
    #[must_use]
    pub fn shut_down(&self, now: Monotonic) -> Option<usize> {
        self.0.listeners.shut_down(now)
    }

    /// Whether nobody waits any more.
    #[must_use]
    pub fn shuts_down(&self) -> bool {
        self.0.listeners.shuts_down()
    }

    /// From now on only observes: says what would have been refused, and refuses and delays nothing; or ends that.
    pub fn shadow(&self, on: bool) {
        self.0.shadow.store(on, Ordering::Relaxed);
    }

    /// Whether it only observes.
    #[must_use]
    pub fn shadows(&self) -> bool {
        self.0.shadow.load(Ordering::Relaxed)
    }

    /// How many requests no family had that were refused for it, or in shadow would have been.
    #[must_use]
    pub fn unknown(&self) -> u64 {
        self.0.unknown.load(Ordering::Relaxed)
    }

    /// How often a host found no room for a family of its own and was put into the shared one.
    #[must_use]
    pub fn overflows(&self) -> u64 {
        self.0.automatic.overflows()
    }
}

/// What is waited for there was told to each caller by itself, so that nobody is too many.
fn waiting_room(listeners: &Arc<Listeners>) -> Arc<Gate> {
    let settings = GateSettings::automatic().max_waiters(usize::MAX);
    Gate::heard("", Arc::new(settings), Some(Arc::clone(listeners)))
}

fn find(families: &[Family], name: &str) -> Result<usize, InvalidFamilies> {
    let place = families.iter().position(|family| family.name == name);
    place.ok_or_else(|| InvalidFamilies::new(name, "is not registered; register it, or correct the name"))
}

impl Snapshot {
    /// Takes up what changed since; one atomic load where nothing did.
    #[inline]
    pub fn refresh(&mut self) {
        if self.registry.version.load(Ordering::Acquire) != self.table.version {
            self.table = self.registry.table();
        }
    }

    /// Its name, for who cannot hold it.
    #[must_use]
    #[inline]
    pub fn id(&self) -> FamiliesId {
        FamiliesId(self.registry.id)
    }

    /// The families that it is of.
    #[must_use]
    pub fn families(&self) -> Families {
        Families(Arc::clone(&self.registry))
    }

    /// Whether everything is only observed.
    #[must_use]
    #[inline]
    pub fn shadows(&self) -> bool {
        self.registry.shadow.load(Ordering::Relaxed)
    }

    /// Whether any family is paced; else there is nothing to look up for it.
    #[must_use]
    #[inline]
    pub fn paces(&self) -> bool {
        self.table.paces
    }

    /// What is counted of the answers of all that are no registered family's.
    #[must_use]
    #[inline]
    pub fn stale_of_others(&self) -> &Arc<StaleCounts> {
        self.registry.listeners.stale_of_others()
    }

    /// Counts a request that no family has.
    pub fn count_unknown(&self) {
        self.registry.unknown.fetch_add(1, Ordering::Relaxed);
    }

    /// The family of a request to `uri`; `name` where the request names it outright. A URI without a host matches
    /// `host`, the request's `Host` field.
    #[must_use]
    #[inline]
    pub fn find(&self, uri: &Uri, host: Option<&str>, name: Option<&FamilyName>) -> Found<'_> {
        self.table.find(&self.registry.automatic, uri, host, name)
    }
}

impl FamiliesId {
    /// The families of this name, where they are still there.
    #[must_use]
    pub fn families(self) -> Option<Families> {
        REGISTRIES.find(self.0).map(Families)
    }

    /// A gate to wait at for a moment, and for no family: always open. `None` where the families are gone.
    #[must_use]
    pub fn waiting_room(self) -> Option<Arc<Gate>> {
        Some(Arc::clone(&REGISTRIES.find(self.0)?.waiting_room))
    }

    /// Counts a refusal that was given in the place of a family's gate, such as for a URL that its vendor asked to be left
    /// alone; `family` is the name of a registered family, or the host of an automatic one.
    pub fn count_refusal(self, family: &str, cause: RefusalCause) {
        if let Some(member) = REGISTRIES.find(self.0).and_then(|registry| Families(registry).any(family)) {
            member.gate.count_refusal(cause);
        }
    }

    /// The family that answers for `uri`, where it has state.
    #[must_use]
    pub fn existing(self, uri: &Uri) -> Option<Arc<Member>> {
        match Families(REGISTRIES.find(self.0)?).snapshot().find(uri, None, None) {
            Found::Member(member) => Some(Arc::clone(member)),
            Found::Automatic(member) => Some(member),
            Found::Healthy | Found::PassThrough | Found::Unknown => None,
        }
    }

    /// The family that answers for `uri`, made where it is a host's first signal. `None` where the families are gone,
    /// or where the host belongs to none.
    #[must_use]
    pub fn member_for(self, uri: &Uri, now: Monotonic) -> Option<Arc<Member>> {
        let registry = REGISTRIES.find(self.0)?;
        match registry.table().find(&registry.automatic, uri, None, None) {
            Found::Member(member) => Some(Arc::clone(member)),
            Found::Automatic(member) => Some(member),
            Found::Healthy => {
                let https = uri.scheme() != Some(&http::uri::Scheme::HTTP);
                let host = Host::of(uri.authority()?.as_str(), https)?;
                Some(registry.automatic.make(host.full(), now))
            }
            Found::PassThrough | Found::Unknown => None,
        }
    }
}

impl Registry {
    fn table(&self) -> Arc<Table> {
        Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn defined(&self) -> MutexGuard<'_, FamiliesBuilder> {
        // Changed only as a whole, at the very end.
        self.defined.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the families, all at once or not at all.
    fn change(
        &self,
        now: Monotonic,
        change: impl FnOnce(&mut Vec<Family>) -> Result<(), InvalidFamilies>,
    ) -> Result<(), InvalidFamilies> {
        let mut defined = self.defined();
        let mut next = defined.clone();
        change(&mut next.families)?;
        let before = self.table();
        let table = table_of(&next, &before, &self.listeners)?;
        for (family, member) in next.families.iter().zip(&table.members) {
            if before.named(&family.name).is_some() {
                member.gate.configure(&Arc::new(family.gate.clone()));
                member.gate.pace(family.pacing.as_deref());
            }
        }
        let table = Arc::new(table);
        self.inherit_gone((&defined, &before), (&next, &table), now);
        self.inherit_automatic((&defined, &before), (&next, &table), false, now);
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&table);
        self.version.store(table.version, Ordering::Release);
        // Only now, so that at no moment a host has neither.
        self.inherit_automatic((&defined, &before), (&next, &table), true, now);
        *defined = next;
        Ok(())
    }
}

/// The table of these families, with every required URL in it.
fn table_of(
    defined: &FamiliesBuilder,
    before: &Table,
    listeners: &Arc<Listeners>,
) -> Result<Table, InvalidFamilies> {
    let table = Table::of(&defined.families, defined.unknown, before, listeners)?;
    let nobody = Automatic::new(listeners);
    for url in &defined.required {
        let shown = |why: &str| InvalidFamilies::new("", format!("required URL {why}"));
        let uri: Uri =
            url.parse().map_err(|_| shown("is not a URL; write it like https://api.example.com/v1"))?;
        if uri.authority().is_none() {
            return Err(shown("has no host; write it like https://api.example.com/v1"));
        }
        if !matches!(table.find(&nobody, &uri, None, None), Found::Member(_)) {
            let url = RedactedUrl::of(&uri);
            return Err(shown(&format!("{url} belongs to no family; give its host to one")));
        }
    }
    Ok(table)
}

impl Drop for Registry {
    fn drop(&mut self) {
        REGISTRIES.remove(self.id);
    }
}
