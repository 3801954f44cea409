use super::{Delay, trim_ows};

/// The longest delay among the elements of a line that a proxy may have folded from several (RFC 9110 section
/// 5.3). A date holds a comma itself, so what `read` refuses is tried once more together with its neighbour.
pub(super) fn longest(line: &[u8], read: impl Fn(&[u8]) -> Option<Delay>) -> Option<Delay> {
    let mut longest = None;
    let mut rest = Some(line);
    while let Some(line) = rest {
        let (element, after_one) = cut(line, 0);
        let mut delay = read(trim_ows(element));
        rest = after_one;
        if delay.is_none() && after_one.is_some() {
            let (pair, after_two) = cut(line, 1);
            delay = read(trim_ows(pair));
            if delay.is_some() {
                rest = after_two;
            }
        }
        longest = longest.max(delay);
    }
    longest
}

/// `line` before and behind its comma number `nth`; all of it and nothing where it has fewer.
fn cut(line: &[u8], nth: usize) -> (&[u8], Option<&[u8]>) {
    let commas = line.iter().enumerate().filter(|(_, byte)| **byte == b',');
    let Some((at, _)) = commas.into_iter().nth(nth) else {
        return (line, None);
    };
    let (before, from_comma) = line.split_at(at);
    (before, from_comma.split_first().map(|(_, after)| after))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::seconds;
    use super::*;

    /// Reads seconds, and `a,b` as a hundred seconds.
    fn read(element: &[u8]) -> Option<Delay> {
        let duration = if element == b"a, b" { Some(Duration::from_secs(100)) } else { seconds(element) };
        duration.map(|duration| Delay { duration, absolute: false })
    }

    #[test]
    fn the_longest_readable_element_counts() {
        for (line, expected) in [
            ("10, 30", Some(30)),
            ("30,10", Some(30)),
            ("soon, 10", Some(10)),
            ("10, soon", Some(10)),
            (", ,10,", Some(10)),
            ("a, b", Some(100)),
            ("a, b, 300", Some(300)),
            ("300,a, b", Some(300)),
            ("a, a, b, b", Some(100)),
            ("a, 5, b", Some(5)),
            ("a", None),
            ("b, a", None),
            ("", None),
            (",,", None),
        ] {
            let delay = longest(line.as_bytes(), read);
            assert_eq!(delay.map(|delay| delay.duration.as_secs()), expected, "{line:?}");
        }
    }
}
