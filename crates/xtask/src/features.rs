//! Every feature alone, and every two of them: each such build passes, and without a warning.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::plan::PUBLISHED;
use crate::step::{self, root};

/// Fails where a build fails or warns.
pub(crate) fn check() -> Result<(), String> {
    let mut hack = step::cargo();
    hack.args(["hack", "check", "--feature-powerset", "--depth", "2", "--quiet"]).args(PUBLISHED);
    // A flag that denies warnings would change every dependency, so they are looked for in what is printed.
    hack.current_dir(root()).stdin(Stdio::null()).stderr(Stdio::piped());
    let failed = |error: std::io::Error| format!("`cargo hack` could not be run: {error}");
    let mut running = hack.spawn().map_err(failed)?;
    let mut warned = false;
    if let Some(said) = running.stderr.take() {
        for line in BufReader::new(said).lines() {
            let line = line.map_err(failed)?;
            warned |= is_warning(&line);
            eprintln!("{line}");
        }
    }
    let status = running.wait().map_err(failed)?;
    if !status.success() || warned {
        return Err("with those features alone something is missing or not needed: a `cfg`, or a feature that another turns \
                    on; see above"
            .to_owned());
    }
    Ok(())
}

fn is_warning(line: &str) -> bool {
    line.starts_with("warning")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_of_the_compiler_is_one() {
        assert!(is_warning("warning: method `a` is never used"));
        assert!(!is_warning("info: running `cargo check` on forbear (1/2)"));
    }
}
