//! Health as lines to read.

use std::fmt;

use super::short::Short;
use super::{FamilyHealth, Health, HealthPhase};

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.shutting_down {
            f.write_str("shutting down: nobody waits\n")?;
        }
        if self.shadow {
            f.write_str("shadow mode: nothing is refused\n")?;
        }
        for store in self.stores.iter().filter(|store| store.is_worth_a_line()) {
            writeln!(f, "{store}")?;
        }
        let name = |family: &FamilyHealth| match &family.partition {
            Some(partition) => format!("{}/{partition}", family.family),
            None => family.family.to_string(),
        };
        let lines: Vec<_> =
            self.families.iter().flat_map(|family| [family].into_iter().chain(&family.partitions)).collect();
        let width = lines.iter().map(|line| name(line).chars().count()).max().unwrap_or(0);
        for (at, line) in lines.into_iter().enumerate() {
            if at > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{:width$}  {line}", name(line))?;
        }
        Ok(())
    }
}

impl fmt::Display for FamilyHealth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.phase)?;
        if let Some(remaining) =
            self.remaining.filter(|left| self.phase != HealthPhase::Open && !left.is_zero())
        {
            write!(f, " {}", Short(remaining))?;
        }
        if let Some(pace) = self.pace {
            write!(f, " at {pace:.1}/s")?;
        }
        if let Some(operator) = self.operator.as_ref().filter(|operator| operator.holds) {
            write!(f, "  by {}", operator.by)?;
        } else if let Some(last) = self.last_signal.as_ref().filter(|_| self.phase != HealthPhase::Open) {
            match last.status {
                Some(status) => write!(f, "  {status} {}", last.reason)?,
                None => write!(f, "  {}", last.reason)?,
            }
            if !last.route.is_empty() {
                write!(f, "  via {}", last.route)?;
            }
        }
        if self.waiting > 0 {
            write!(f, "  {} waiting", self.waiting)?;
        }
        if let Some(pacing) = self.pacing.as_ref().filter(|pacing| pacing.queued > 0) {
            write!(f, "  {} queued", pacing.queued)?;
        }
        Ok(())
    }
}

impl fmt::Display for HealthPhase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
