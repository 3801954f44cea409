use std::time::Duration;

use forbear_core::gate::Event;
use forbear_core::signal::Signal;

use super::Families;

/// A signal that closed a family, or a part of one.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Strike<'a> {
    /// The family's name.
    pub family: &'a str,
    /// The part of it that is closed, as health names it; `None` where it is the whole.
    pub partition: Option<&'a str>,
    /// What its vendor said.
    pub signal: &'a Signal,
    /// The path of the request that met it, without query; empty where what was called has no name.
    pub route: &'a str,
    /// How long the family is not called.
    pub cooldown: Duration,
    /// The level after the strike, 1 to 7.
    pub level: u8,
    /// Whether nothing was accepted since the last strike.
    pub blind: bool,
}

impl Families {
    /// Calls `listener` for every later strike of any family or part of one, on the task that met it: so it should be quick. Fifty
    /// concurrent 429s are one strike. A panic in it is logged and goes no further.
    ///
    /// ```
    /// # use forbear::Families;
    /// # let families = Families::builder().build()?;
    /// families.on_signal(|strike| eprintln!("{} cools for {:?}: {}", strike.family, strike.cooldown, strike.signal.reason));
    /// # Ok::<(), forbear::InvalidFamilies>(())
    /// ```
    pub fn on_signal(&self, listener: impl Fn(&Strike<'_>) + Send + Sync + 'static) {
        let _ = self.0.listeners().add(move |gate, event| {
            if let Event::Strike { struck, cooldown, level, blind } = event {
                listener(&Strike {
                    family: gate.name(),
                    partition: gate.partition_label(),
                    signal: &struck.signal,
                    route: &struck.route,
                    cooldown: *cooldown,
                    level: *level,
                    blind: *blind,
                });
            }
        });
    }
}
