//! The pages' links lead somewhere: to a file that is there, and to a heading in it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The README and the pages of `docs/`, decisions too.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut pages: Vec<_> =
        ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(|page| root.join(page)).into();
    for folder in ["docs", "docs/decisions"] {
        let files = fs::read_dir(root.join(folder)).unwrap().map(|file| file.unwrap().path());
        pages.extend(files.filter(|file| file.extension().is_some_and(|ending| ending == "md")));
    }
    pages
}

/// The lines that are no code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

/// The name that a heading has in links: words in small letters, with dashes between.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    prose(text)
        .filter(|line| line.starts_with('#'))
        .map(|line| anchor(line.trim_start_matches('#')))
        .collect()
}

/// The targets of links in a text, those to other hosts left out.
fn targets(text: &str) -> Vec<&str> {
    let links = prose(text).flat_map(|line| line.split("](").skip(1));
    let targets = links.filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    targets.filter(|target| !target.contains("://")).collect()
}

/// What is wrong with the links of a page.
fn broken(page: &Path, text: &str) -> Vec<String> {
    let mut broken = Vec::new();
    for target in targets(text) {
        let (file, heading) = target.split_once('#').unwrap_or((target, ""));
        let other = page.parent().unwrap().join(file);
        let there = if file.is_empty() {
            heading.is_empty() || anchors(text).contains(heading)
        } else {
            other.exists()
                && (heading.is_empty() || anchors(&fs::read_to_string(&other).unwrap()).contains(heading))
        };
        if !there {
            broken.push(format!("{}: {target}", page.display()));
        }
    }
    broken
}

#[test]
fn every_link_of_the_guide_leads_to_a_file_and_a_heading() {
    let (mut links, mut all) = (0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        links += targets(&text).len();
        all.extend(broken(&page, &text));
    }
    assert!(all.is_empty(), "{all:#?}");
    assert!(links > 200, "{links}");
}

#[test]
fn a_link_to_nothing_is_found() {
    let page = pages().into_iter().find(|page| page.ends_with("docs/operations.md")).unwrap();
    let text = "## Here, and `there`\n[a](#here-and-there) [b](#nowhere) [c](words.md) [d](none.md) [e](words.md#none)\n\
                ```\n[f](code.md)\n```\n";
    let found = broken(&page, text);
    let found: Vec<_> = found.iter().filter_map(|found| found.rsplit(' ').next()).collect();
    assert_eq!(found, ["#nowhere", "none.md", "words.md#none"]);
}
