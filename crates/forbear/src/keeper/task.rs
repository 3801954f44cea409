//! The task: what it waits for, and when it tries again.

use std::sync::Arc;
use std::time::Duration;

use forbear_core::families::FamiliesId;
use forbear_core::store::{StoreError, StoreFault};
use forbear_core::time::Monotonic;
use tokio::time::{timeout, timeout_at};

use crate::clock;

use super::Shared;
use super::write::Writer;

/// What comes within this time of a first change is written with it.
const BATCH: Duration = Duration::from_millis(10);
/// After a failure the next attempt waits so long, doubling.
const FIRST_GAP: Duration = Duration::from_millis(100);
const LONGEST_GAP: Duration = Duration::from_secs(30);
/// Once the families are gone it goes on trying for so long.
const LAST: Duration = Duration::from_secs(5);

pub(super) async fn run(shared: Arc<Shared>, families: FamiliesId) {
    // However it ends, nobody waits for it any longer.
    let _ended = Ended(&shared);
    let mut writer = Writer::new(families);
    let mut gap = FIRST_GAP;
    let mut last = None;
    loop {
        let pressing = shared.changes().is_pressing();
        if !pressing {
            collect(&shared).await;
        }
        let tried = attempt(&shared, &mut writer).await;
        let closed = shared.changes().closed;
        match tried {
            Ok(()) => {
                gap = FIRST_GAP;
                if closed && !shared.changes().is_due() {
                    return;
                }
                idle(&shared, writer.next_look()).await;
            }
            Err(error) if closed && error.fault() == StoreFault::Closed => return,
            Err(error) => {
                let give_up = closed && *last.get_or_insert_with(|| clock::now().after(LAST)) <= clock::now();
                if give_up {
                    let pending = shared.changes().pending();
                    tracing::warn!(
                        pending,
                        cause = error.cause(),
                        "ends without having written what it knew"
                    );
                    return;
                }
                let drawn = gap.mul_f64(1.0 + 0.2 * fastrand::f64());
                patience(&shared, if closed { drawn.min(FIRST_GAP) } else { drawn }).await;
                gap = gap.saturating_mul(2).min(LONGEST_GAP);
            }
        }
    }
}

/// Does all that is due.
async fn attempt(shared: &Shared, writer: &mut Writer) -> Result<(), StoreError> {
    let load = std::mem::take(&mut shared.changes().load);
    if load && let Err(error) = writer.load(shared).await {
        shared.changes().load = true;
        return Err(error);
    }
    writer.save(shared).await?;
    writer.look(shared).await;
    Ok(())
}

/// Waits until there is something to do.
async fn idle(shared: &Shared, look: Option<Monotonic>) {
    loop {
        if shared.changes().has_work() {
            return;
        }
        let woken = shared.wake.notified();
        let Some(at) = look else {
            woken.await;
            continue;
        };
        if timeout_at(clock::to_instant(at), woken).await.is_err() {
            return;
        }
    }
}

/// Waits a moment for more changes, unless somebody waits for these.
async fn collect(shared: &Shared) {
    let _ = timeout(BATCH, pressed(shared)).await;
}

async fn pressed(shared: &Shared) {
    while !shared.changes().is_pressing() {
        shared.wake.notified().await;
    }
}

/// Waits after a failure, unless somebody asks anew.
async fn patience(shared: &Shared, gap: Duration) {
    let asked = async {
        loop {
            shared.wake.notified().await;
            if shared.changes().is_asked_for() {
                return;
            }
        }
    };
    let _ = timeout(gap, asked).await;
}

struct Ended<'a>(&'a Shared);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        let gone = self.0.changes().end();
        drop(gone);
        self.0.progress.send_modify(|progress| progress.ended = true);
    }
}
