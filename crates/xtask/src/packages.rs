//! What would be uploaded builds by itself: a crate against the package of the one below it.

use std::fs;
use std::process::Stdio;

use crate::plan::PUBLISHED;
use crate::step::{self, root};

/// Fails where one does not.
pub(crate) fn check() -> Result<(), String> {
    // Anew each time: to cargo, what has the name and version of a package that it once unpacked and built from a place is that
    // package, whatever it holds by now.
    let place = root().join(format!("target/packages-{}", std::process::id()));
    let mut package = step::cargo();
    package.args(["package", "--quiet", "--allow-dirty", "--target-dir"]).arg(&place).args(PUBLISHED);
    let ended = package.current_dir(root()).stdin(Stdio::null()).status();
    let _ = fs::remove_dir_all(&place);
    match ended {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!(
            "`cargo package` ended with {status}; what is uploaded does not build by itself: a file, a version or a \
             feature is missing in it"
        )),
        Err(error) => Err(format!("`cargo package` could not be run: {error}")),
    }
}
