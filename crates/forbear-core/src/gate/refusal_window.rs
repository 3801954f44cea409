use std::time::Duration;

const SHORTEST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(5);

/// How long an attempt may go without being refused until it counts as accepted: refusals are quick even where
/// answers take a minute. Three times the slowest of the last 8 refusals, at least 250 ms, at most 5 s.
#[derive(Debug, Clone, Default)]
pub(super) struct RefusalWindow {
    took: [Duration; 8],
    next: u8,
}

impl RefusalWindow {
    /// Remembers that a refusal came `took` after its attempt was sent.
    pub(super) fn refused_after(&mut self, took: Duration) {
        if let Some(slot) = self.took.get_mut(usize::from(self.next)) {
            *slot = took;
        }
        self.next = self.next.wrapping_add(1) & 7;
    }

    pub(super) fn span(&self) -> Duration {
        let slowest = self.took.iter().max().copied().unwrap_or_default();
        slowest.saturating_mul(3).clamp(SHORTEST, LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slow_refusal_is_forgotten_after_eight_more() {
        let mut window = RefusalWindow::default();
        assert_eq!(window.span(), SHORTEST);
        window.refused_after(Duration::from_secs(1));
        assert_eq!(window.span(), Duration::from_secs(3));
        window.refused_after(Duration::from_secs(9));
        assert_eq!(window.span(), LONGEST);
        for _ in 0..8 {
            window.refused_after(Duration::from_millis(100));
        }
        assert_eq!(window.span(), Duration::from_millis(300));
    }
}
