//! Which metrics and labels a PromQL expression names. `promtool` judges the grammar; this finds names.

/// The functions, aggregations and words that the shipped expressions may use.
const WORDS: [&str; 8] = ["by", "increase", "label_values", "max", "or", "rate", "sum", "unless"];

/// One metric of an expression.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Selector {
    pub(crate) metric: String,
    /// Label, operator, value.
    pub(crate) matchers: Vec<(String, String, String)>,
}

/// What an expression names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) selectors: Vec<Selector>,
    /// The labels that it groups by.
    pub(crate) grouped: Vec<String>,
}

/// Reads `text`.
pub(crate) fn names(text: &str) -> Names {
    let mut names = Names::default();
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        if next == '[' {
            rest = after(rest, ']').1;
        } else if is_name(next) && !next.is_ascii_digit() {
            let (word, tail) = rest.split_at(rest.find(|c| !is_name(c)).unwrap_or(rest.len()));
            let tail = tail.trim_start();
            rest = tail;
            match word {
                "by" => {
                    let (labels, tail) = after(tail, ')');
                    let labels =
                        labels.trim_start_matches('(').split(',').map(|label| label.trim().to_owned());
                    names.grouped.extend(labels);
                    rest = tail;
                }
                "label_values" => {
                    let (both, tail) = after(tail, ')');
                    let (metric, label) = both.trim_start_matches('(').split_once(',').unwrap();
                    names.selectors.push(Selector { metric: metric.trim().to_owned(), matchers: Vec::new() });
                    names.grouped.push(label.trim().to_owned());
                    rest = tail;
                }
                _ if WORDS.contains(&word) => {}
                _ if tail.starts_with('{') => {
                    let (inside, tail) = after(tail, '}');
                    let matchers = inside.trim_start_matches('{').split(',').map(matcher).collect();
                    names.selectors.push(Selector { metric: word.to_owned(), matchers });
                    rest = tail;
                }
                _ => names.selectors.push(Selector { metric: word.to_owned(), matchers: Vec::new() }),
            }
        } else {
            let number = rest.find(|c: char| !is_name(c) && c != '.').filter(|end| *end > 0);
            rest = &rest[number.unwrap_or(next.len_utf8())..];
        }
    }
    names
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == ':'
}

/// What stands before `end`, and after it. No string of these expressions holds a bracket.
fn after(text: &str, end: char) -> (&str, &str) {
    text.split_once(end).unwrap_or_else(|| panic!("no {end:?} in {text:?}"))
}

fn matcher(text: &str) -> (String, String, String) {
    let text = text.trim();
    let at = text.find(|c| !is_name(c)).unwrap();
    let (label, rest) = text.split_at(at);
    let (operator, value) = rest.split_once('"').unwrap_or_else(|| panic!("no value in {text:?}"));
    (label.to_owned(), operator.trim().to_owned(), value.trim_end_matches('"').to_owned())
}

#[test]
fn names_are_found_wherever_they_stand() {
    let found = names(r#"sum by (a, b) (rate(m_total{x="y", z=~"$z"}[5m])) > 10 or max(n) unless o_1 > 0.5"#);
    let metrics: Vec<_> = found.selectors.iter().map(|selector| selector.metric.as_str()).collect();
    assert_eq!(metrics, ["m_total", "n", "o_1"]);
    assert_eq!(found.grouped, ["a", "b"]);
    let text = |label: &str, operator: &str, value: &str| (label.into(), operator.into(), value.into());
    assert_eq!(found.selectors[0].matchers, [text("x", "=", "y"), text("z", "=~", "$z")]);
    assert_eq!(names("label_values(m, x)").selectors[0].metric, "m");
    assert_eq!(names("typo(m)").selectors[0].metric, "typo", "an unknown word is taken for a metric");
}
