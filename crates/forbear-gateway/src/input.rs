//! What a command is given to read.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The most bytes that are read: 1 MiB.
pub(crate) const MAX: usize = 1024 * 1024;

/// The beginning of a file.
pub(crate) struct Input {
    /// At most [`MAX`] bytes.
    pub(crate) bytes: Vec<u8>,
    /// Whether there are more.
    pub(crate) cut: bool,
}

/// The file of this name, or standard input for `-`.
pub(crate) fn file_or_stdin(path: &Path) -> io::Result<Input> {
    if path == Path::new("-") { beginning(io::stdin().lock()) } else { file(path) }
}

/// The file of this name.
pub(crate) fn file(path: &Path) -> io::Result<Input> {
    beginning(File::open(path)?)
}

fn beginning(mut from: impl Read) -> io::Result<Input> {
    let mut bytes = Vec::new();
    from.by_ref().take(MAX as u64).read_to_end(&mut bytes)?;
    let cut = bytes.len() == MAX && from.read(&mut [0])? > 0;
    Ok(Input { bytes, cut })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_input_is_cut() {
        let read = |length: u64| beginning(io::repeat(b'x').take(length)).map(|it| (it.bytes.len(), it.cut));
        assert_eq!(read(MAX as u64 - 1).unwrap(), (MAX - 1, false));
        assert_eq!(read(MAX as u64).unwrap(), (MAX, false));
        assert_eq!(read(u64::MAX).unwrap(), (MAX, true));
    }
}
