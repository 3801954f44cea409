use std::fmt;
use std::time::Duration;

/// A duration a person reads at a glance: `1h02m`, `3m58s`, `4.2s`, `250ms`. Rounded up, so that it never says that
/// something is over which is not.
#[derive(Debug, Clone, Copy)]
pub struct Short(pub Duration);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let millis = self.0.as_nanos().div_ceil(1_000_000);
        let seconds = millis.div_ceil(1000);
        let (minutes, hours) = (seconds / 60, seconds / 3600);
        match millis {
            0..1_000 => write!(f, "{millis}ms"),
            1_000..10_000 => write!(
                f,
                "{:.1}s",
                Duration::from_millis(u64::try_from(millis.div_ceil(100)).unwrap_or(0).saturating_mul(100))
                    .as_secs_f64()
            ),
            _ if minutes == 0 => write!(f, "{seconds}s"),
            _ if hours == 0 => write!(f, "{minutes}m{:02}s", seconds % 60),
            _ => write!(f, "{hours}h{:02}m", minutes % 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_short_and_round_up() {
        let shown = |millis| Short(Duration::from_millis(millis)).to_string();
        assert_eq!(
            [shown(0), shown(250), shown(4_150), shown(9_990), shown(12_001)],
            ["0ms", "250ms", "4.2s", "10.0s", "13s"]
        );
        assert_eq!([shown(237_500), shown(3_720_000)], ["3m58s", "1h02m"]);
        assert_eq!([shown(3_600_000), shown(7_199_001), shown(7_199_000)], ["1h00m", "2h00m", "1h59m"]);
        assert_eq!(Short(Duration::from_nanos(1)).to_string(), "1ms");
    }
}
