//! The table of presets names each, with its hosts.

use forbear::presets;

use crate::HANDBOOK;

fn shown(preset: &presets::Preset) -> String {
    let suffixes = preset.host_suffixes().map(|suffix| format!("*.{suffix}"));
    let hosts: Vec<_> =
        preset.hosts().map(str::to_owned).chain(suffixes).map(|host| format!("`{host}`")).collect();
    match hosts.as_slice() {
        [] => "yours".to_owned(),
        [one] => one.clone(),
        [one, two] => format!("{one}, {two}"),
        [one, two, rest @ ..] => format!("{one}, {two} and {} more", rest.len()),
    }
}

#[test]
fn the_table_has_every_preset_with_its_hosts_and_no_other() {
    let (_, table) = HANDBOOK.split_once("| name | hosts | how it speaks |\n|---|---|---|\n").unwrap();
    let told: Vec<_> =
        table.lines().map(|row| row.split(" | ").take(2).collect::<Vec<_>>().join(" | ")).collect();
    let there: Vec<_> =
        presets::all().map(|preset| format!("| `{}` | {}", preset.name(), shown(&preset))).collect();
    assert_eq!(told, there);
}

#[test]
fn all_presets_live_in_one_set_of_families() {
    let families = presets::all().fold(forbear::Families::builder(), forbear::FamiliesBuilder::preset);
    let families = families.build().unwrap();
    assert_eq!(families.health().families.len(), presets::NAMES.len());
}

/// Every word that the handbook's tables explain is one that a dialect may have, and every one that it may have is there.
#[test]
fn the_tables_of_words_are_whole() {
    let words = |intro: &str| -> Vec<String> {
        let (_, rest) = HANDBOOK.split_once(intro).unwrap();
        let table = rest.trim_start().lines().skip(2).take_while(|line| line.starts_with('|'));
        let keys = table.flat_map(|row| {
            row.split('|')
                .nth(1)
                .unwrap()
                .split(',')
                .map(|key| key.trim().trim_matches('`').to_owned())
                .collect::<Vec<_>>()
        });
        keys.filter(|key| !key.is_empty()).collect()
    };
    let known = |toml: &str| -> Vec<String> {
        let error = forbear::Dialect::from_toml(toml).unwrap_err().to_string();
        let (_, list) = error.split_once("expected one of ").unwrap();
        let mut known: Vec<_> = list.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        known.sort_unstable();
        known
    };
    let mut top = words("At the top:");
    top.retain(|key| key != "[[published]]");
    top.extend(["dimension", "published", "rule"].map(str::to_owned));
    top.sort_unstable();
    assert_eq!(top, known("name = \"a\"\nx = 1"));
    let mut rule = words("In a `[[rule]]`:");
    rule.sort_unstable();
    assert_eq!(rule, known("name = \"a\"\n[[rule]]\nstatus = 429\nx = 1"));
    let mut place = words("or a table:");
    place.sort_unstable();
    assert_eq!(place, known("name = \"a\"\nreason = { x = 1 }"));
}
