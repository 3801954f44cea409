//! What Prometheus itself says, where it is installed.

use std::process::{Command, Stdio};

use crate::shipped::ALERTS;

/// Runs `promtool` on a file that holds `text`; `None` where there is no `promtool`.
fn promtool(arguments: &[&str], name: &str, text: &str) -> Option<(bool, String)> {
    Command::new("promtool").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().ok()?;
    let folder = std::env::temp_dir().join(format!("forbear-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(name);
    std::fs::write(&file, text).unwrap();
    let output = Command::new("promtool").args(arguments).arg(&file).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    Some((output.status.success(), said))
}

#[test]
fn promtool_accepts_the_rules_and_not_just_anything() {
    let Some((accepted, said)) = promtool(&["check", "rules"], "alerts.yml", ALERTS) else {
        println!("skipped: promtool is not installed; on Debian `apt-get install prometheus`");
        return;
    };
    assert!(accepted, "{said}");
    let broken = ALERTS.replacen("max by (family)", "max by family", 1);
    assert_ne!(broken, ALERTS);
    let (accepted, said) = promtool(&["check", "rules"], "broken.yml", &broken).unwrap();
    assert!(!accepted, "{said}");
}
