//! What happened, a line each, with the seconds since the start.

use std::cell::RefCell;
use std::fmt::Arguments;
use std::io::{Result, Write};
use std::time::Duration;

use forbear::Families;
use forbear_mock::MockVendor;
use tokio::time::Instant;

/// Writes lines in the order in which things happened, what the vendors saw among them.
pub(super) struct Timeline<'a, W> {
    start: Instant,
    families: &'a Families,
    vendors: [(&'static str, &'a MockVendor); 2],
    out: RefCell<Out<'a, W>>,
}

struct Out<'a, W> {
    to: &'a mut W,
    /// How many attempts of each vendor were written.
    shown: [usize; 2],
}

impl<'a, W: Write> Timeline<'a, W> {
    pub(super) fn new(
        to: &'a mut W,
        families: &'a Families,
        vendors: [(&'static str, &'a MockVendor); 2],
    ) -> Self {
        let out = RefCell::new(Out { to, shown: [0; 2] });
        Self { start: Instant::now(), families, vendors, out }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// What `who` has to say, after what the vendors saw until now.
    pub(super) fn say(&self, who: &str, what: Arguments<'_>) -> Result<()> {
        let mut out = self.out.borrow_mut();
        out.attempts(&self.vendors, self.start)?;
        out.line(self.elapsed(), who, what)
    }

    /// A new part of the story.
    pub(super) fn title(&self, what: &str) -> Result<()> {
        writeln!(self.out.borrow_mut().to, "\n{what}")
    }

    /// The health line of one family.
    pub(super) fn health(&self, family: &str) -> Result<()> {
        match self.families.health().family(family) {
            Some(health) => self.say("health", format_args!("{family}  {health}")),
            None => self.say("health", format_args!("{family} has no state")),
        }
    }
}

impl<W: Write> Out<'_, W> {
    fn line(&mut self, at: Duration, who: &str, what: Arguments<'_>) -> Result<()> {
        writeln!(self.to, "{:6.2}s  {who:<8} {what}", at.as_secs_f64())
    }

    /// The attempts that arrived since the last line, of all vendors, by time.
    fn attempts(&mut self, vendors: &[(&str, &MockVendor); 2], start: Instant) -> Result<()> {
        let mut news = Vec::new();
        for ((name, vendor), shown) in vendors.iter().zip(&mut self.shown) {
            let attempts = vendor.attempts();
            news.extend(attempts.iter().skip(*shown).map(|attempt| (*name, attempt.clone())));
            *shown = attempts.len();
        }
        news.sort_by_key(|(_, attempt)| attempt.at());
        for (name, attempt) in news {
            let status = attempt.status().map_or_else(String::new, |status| status.as_u16().to_string());
            let at = attempt.at().duration_since(start);
            self.line(at, "  vendor", format_args!("{name} sees {} and says {status}", attempt.path()))?;
        }
        Ok(())
    }
}
