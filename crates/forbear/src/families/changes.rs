use std::sync::Arc;
use std::time::Duration;

use forbear_core::gate::ListenerId;
use forbear_core::health::{FamilyHealth, Health};
use tokio::sync::Notify;
use tokio::time::timeout;

use super::Families;

/// Tells when the health of some family changes. See [`Families::changes`].
#[derive(Debug)]
pub struct Changes {
    families: Families,
    changed: Arc<Notify>,
    listener: ListenerId,
    shown: Vec<String>,
    shutting_down: bool,
}

/// What time alone changes is looked at so often where nobody knows when it will.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Families {
    /// A watch on the health of all families, for a status page or an exporter that need not ask all the time.
    ///
    /// ```
    /// # use forbear::Families;
    /// # async fn watch(families: Families) {
    /// let mut changes = families.changes();
    /// loop {
    ///     println!("{}", changes.next().await);
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn changes(&self) -> Changes {
        let changed = Arc::new(Notify::new());
        let notify = Arc::clone(&changed);
        let listener = self.0.listeners().add(move |_, _| notify.notify_one());
        Changes { families: self.clone(), changed, listener, shown: Vec::new(), shutting_down: false }
    }
}

impl Changes {
    /// The health, as soon as a family or a part of one stands elsewhere than at the last call, or is new, or gone; at once
    /// for the first call. What an event tells (a strike, a recovery, an operator) is seen at once; what time alone changes, such as the
    /// end of a recovery, within a second; a [shutdown](Families::shutdown) too. Counters and remaining time are no change.
    ///
    /// **Cancellation.** Nothing is lost: the next call tells it.
    pub async fn next(&mut self) -> Health {
        loop {
            let health = self.families.health();
            let shown: Vec<_> = health
                .families
                .iter()
                .flat_map(|family| std::iter::once(family).chain(&family.partitions))
                .map(stands)
                .collect();
            if shown != self.shown || health.shutting_down != self.shutting_down {
                self.shown = shown;
                self.shutting_down = health.shutting_down;
                return health;
            }
            let _ = timeout(LOOK_EVERY, self.changed.notified()).await;
        }
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.families.0.listeners().forget(self.listener);
    }
}

/// Where a family stands, or a part of one; not what time and callers change all the while.
fn stands(family: &FamilyHealth) -> String {
    let FamilyHealth { family: name, partition, phase, level, strikes, closed_partitions, .. } = family;
    let operator = family.operator.as_ref().map(|operator| operator.holds);
    format!("{name:?} {partition:?} {phase} {level} {strikes} {closed_partitions} {operator:?}")
}
