//! What threads share: `std`'s, or loom's where `cargo xtask loom` checks the models.

#[cfg(not(all(test, forbear_loom)))]
mod plain {
    pub(crate) use foldhash::fast::RandomState;
    pub(crate) use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic};

    /// A value that each thread has for itself.
    macro_rules! of_each_thread {
        ($(#[$doc:meta])* static $name:ident: $of:ty = $value:expr;) => {
            std::thread_local! {
                $(#[$doc])*
                static $name: $of = const { $value };
            }
        };
    }

    /// A value that the process has once.
    macro_rules! of_the_process {
        ($(#[$doc:meta])* $(pub($seen:ident))? static $name:ident: $of:ty = $value:expr;) => {
            $(#[$doc])*
            $(pub($seen))? static $name: $of = $value;
        };
    }

    pub(crate) use {of_each_thread, of_the_process};
}

#[cfg(all(test, forbear_loom))]
mod plain {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    // A model must go the same way each time.
    pub(crate) use foldhash::fast::FixedState as RandomState;
    pub(crate) use loom::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic};

    macro_rules! of_each_thread {
        ($(#[$doc:meta])* static $name:ident: $of:ty = $value:expr;) => {
            loom::thread_local! {
                $(#[$doc])*
                static $name: $of = $value;
            }
        };
    }

    macro_rules! of_the_process {
        ($(#[$doc:meta])* $(pub($seen:ident))? static $name:ident: $of:ty = $value:expr;) => {
            loom::lazy_static! {
                $(#[$doc])*
                $(pub($seen))? static ref $name: $of = $value;
            }
        };
    }

    pub(crate) use {of_each_thread, of_the_process};

    /// Checks `run` in every order of its threads' steps, with at most five interruptions. With `LOOM_LOG` set all is
    /// as loom's own variables say, and each step is told.
    pub(crate) fn model(run: impl Fn() + Sync + Send + 'static) {
        interrupted(5, run);
    }

    /// The same with at most so many interruptions.
    pub(crate) fn interrupted(most: usize, run: impl Fn() + Sync + Send + 'static) {
        if std::env::var_os("LOOM_LOG").is_some() {
            return loom::model(run);
        }
        let orders = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&orders);
        let mut builder = loom::model::Builder::new();
        let _ = builder.preemption_bound.get_or_insert(most);
        builder.check(move || {
            let _ = counted.fetch_add(1, Ordering::Relaxed);
            run();
        });
        let orders = orders.load(Ordering::Relaxed);
        assert!(orders > 1, "loom found nothing that could be done in another order");
        println!("{orders} orders");
    }
}

pub(crate) use plain::*;

/// How many of something there are; fewer where a model is checked, which looks at every order of every step.
pub(crate) const fn fewer(usually: usize, in_a_model: usize) -> usize {
    if cfg!(all(test, forbear_loom)) { in_a_model } else { usually }
}
