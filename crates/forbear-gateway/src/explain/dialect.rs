//! Which dialect a response is read by.

use std::path::Path;

use forbear_core::dialect::Dialect;

use super::dialect_file;
use crate::failure::Failure;
use crate::input;

/// The dialect of this name, of this file, or the standard one.
pub(super) fn chosen(name: Option<&str>, file: Option<&Path>) -> Result<Dialect, Failure> {
    match (name, file) {
        (_, Some(file)) => from_file(file),
        (Some(name), None) => Dialect::named(name)
            .map_err(|error| Failure::Usage(format!("{error} (`forbear explain --list` shows all names)"))),
        (None, None) => Ok(Dialect::standard()),
    }
}

fn from_file(path: &Path) -> Result<Dialect, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::Usage(format!("{}: {why}", path.display()));
    let input = input::file(path).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
    if input.cut {
        return Err(wrong(&format!("is longer than {} bytes: give a dialect in TOML", input::MAX)));
    }
    let text = String::from_utf8(input.bytes).map_err(|error| {
        let line = dialect_file::line_at(error.as_bytes(), error.utf8_error().valid_up_to());
        wrong(&format!("line {line}: is not UTF-8, which TOML has to be"))
    })?;
    Dialect::from_toml(&text).map_err(|error| match dialect_file::line_of(&text, &error.key) {
        Some(line) => wrong(&format!("line {line}: {error}")),
        None => wrong(&error),
    })
}
