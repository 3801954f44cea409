//! The dashboard and the alerts of `docs/` name what a real scrape has.

use std::collections::BTreeSet;

use forbear::{Families, Family, Pacing};
use serde_json::Value;

use crate::documented::PAGE;
use crate::expression::names;
use crate::scrape::{Exporter, Scrape};
use crate::stale::ask;

const DASHBOARD: &str = include_str!("../../docs/grafana-dashboard.json");
pub(crate) const ALERTS: &str = include_str!("../../docs/prometheus-alerts.yml");

/// Of a family that is paced, and whose answers are stored.
fn scrape() -> Scrape {
    let quotes = Family::new("quotes").host("quotes.test").pacing(Pacing::new().in_flight(10));
    let families = Families::builder().family(quotes).build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(ask(&families, "http://quotes.test/"));
    Exporter::new().scrape(&families.metrics())
}

/// Every metric that an expression names is in the scrape, with its labels; a value that is written out is one that the
/// label can have. The metrics that it names.
fn check(expression: &str, scrape: &Scrape) -> BTreeSet<String> {
    let names = names(expression);
    assert!(!names.selectors.is_empty(), "{expression}: names no metric");
    for selector in &names.selectors {
        let metric = &selector.metric;
        assert!(scrape.kinds.contains_key(metric), "{expression}: no metric {metric}");
        let labels = scrape.labels(metric);
        for (label, operator, value) in &selector.matchers {
            assert!(labels.contains(label.as_str()), "{expression}: {metric} has no label {label}");
            let values = scrape.values(metric, label);
            for value in value.split('|').filter(|value| !value.starts_with('$')) {
                assert!(values.contains(value), "{expression}: {label}{operator}{value} can never be");
            }
        }
        for label in &names.grouped {
            assert!(
                labels.contains(label.as_str()),
                "{expression}: {metric} has no label {label} to group by"
            );
        }
        let counter = scrape.kinds[metric] == "counter";
        let rated = ["rate(", "increase("].iter().any(|call| expression.contains(&format!("{call}{metric}")));
        assert_eq!(counter, rated, "{expression}: a rate of {metric}, if and only if it is a counter");
    }
    names.selectors.into_iter().map(|selector| selector.metric).collect()
}

/// The expressions anywhere below `value`.
fn expressions<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if key == "expr" || (key == "query" && text.contains('(')) => {
                        found.push(text);
                    }
                    _ => expressions(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| expressions(item, found)),
        _ => {}
    }
}

#[test]
fn the_dashboard_shows_every_metric_by_its_name_and_labels() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let (mut found, scrape) = (Vec::new(), scrape());
    expressions(&dashboard, &mut found);
    let shown: BTreeSet<_> = found.iter().flat_map(|expression| check(expression, &scrape)).collect();
    let exported: BTreeSet<_> = scrape.kinds.keys().cloned().collect();
    assert_eq!(shown, exported);
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(!panel["description"].as_str().unwrap().is_empty(), "{} says what it shows", panel["title"]);
    }
    let ids: BTreeSet<_> = dashboard["panels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|panel| &panel["id"])
        .map(Value::to_string)
        .collect();
    assert_eq!(ids.len(), dashboard["panels"].as_array().unwrap().len(), "every panel has an id of its own");
}

#[test]
fn every_alert_names_what_is_there_and_says_what_to_do() {
    let rules: Value = serde_norway::from_str(ALERTS).unwrap();
    let scrape = scrape();
    let mut names = BTreeSet::new();
    let headings: BTreeSet<_> =
        PAGE.lines().filter_map(|line| line.strip_prefix("## ")).map(str::to_lowercase).collect();
    for rule in rules["groups"][0]["rules"].as_array().unwrap() {
        let _ = check(rule["expr"].as_str().unwrap(), &scrape);
        assert!(names.insert(rule["alert"].as_str().unwrap()), "{} is there twice", rule["alert"]);
        for annotation in ["summary", "description"] {
            assert!(rule["annotations"][annotation].is_string(), "{} has no {annotation}", rule["alert"]);
        }
        let runbook = rule["annotations"]["runbook_url"].as_str().unwrap_or_default();
        let heading =
            runbook.rsplit_once("/docs/operations.md#").map(|(_, heading)| heading.replace('-', " "));
        assert!(heading.is_some_and(|heading| headings.contains(&heading)), "{}: {runbook}", rule["alert"]);
    }
    assert!(names.len() >= 5, "{names:?}");
}

#[test]
fn what_the_page_asks_at_night_can_be_asked() {
    let (section, scrape) = (PAGE.split("\n## ").find(|section| section.starts_with("At three")), scrape());
    let rows = section.unwrap().lines().filter(|line| line.starts_with("| "));
    let cells = rows.filter_map(|row| row.split('|').nth(4));
    let asked: BTreeSet<_> = cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .filter(|code| code.contains("forbear_"))
        .collect();
    assert!(asked.len() >= 5, "{asked:?}");
    for expression in asked {
        let _ = check(expression, &scrape);
    }
}

#[test]
#[should_panic(expected = "no metric forbear_strike_total")]
fn a_metric_that_does_not_exist_is_found() {
    let _ = check("rate(forbear_strike_total[5m])", &scrape());
}

#[test]
#[should_panic(expected = "can never be")]
fn a_value_that_a_label_never_has_is_found() {
    let _ = check(r#"forbear_family_phase{phase="banned"}"#, &scrape());
}
