//! What every crate that is published brings along.

use std::fs;
use std::path::{Path, PathBuf};

use crate::plan::PUBLISHED;
use crate::step::root;

/// The directories of the crates that are published.
fn published() -> Vec<PathBuf> {
    let members = fs::read_dir(root().join("crates")).unwrap().map(|member| member.unwrap().path());
    members.filter(|member| !manifest(member).contains("publish = false")).collect()
}

fn manifest(member: &Path) -> String {
    fs::read_to_string(member.join("Cargo.toml")).unwrap()
}

#[test]
fn all_are_packed_and_checked_by_ci() {
    for member in published() {
        let name = member.file_name().and_then(|name| name.to_str()).unwrap().to_owned();
        assert!(PUBLISHED.contains(&&*name), "{name}: add it to PUBLISHED in plan.rs");
    }
}

#[test]
fn the_licences_are_in_every_package() {
    for member in published() {
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            let ours = fs::read(root().join(licence)).unwrap();
            let theirs = fs::read(member.join(licence)).unwrap_or_default();
            assert!(ours == theirs, "{}: `ln -s ../../{licence} {licence}`", member.display());
        }
    }
}

#[test]
fn every_page_on_docs_rs_has_all_features_and_names_them() {
    let told = "[package.metadata.docs.rs]\nall-features = true\nrustdoc-args = [\"--cfg\", \"docsrs\"]\n";
    for member in published() {
        let manifest = manifest(&member);
        assert!(manifest.contains(told), "{}: its manifest lacks\n{told}", member.display());
        assert!(manifest.contains("\nreadme = "), "{}: its manifest names no readme", member.display());
    }
}
