//! The file and those beside it: modes, names, a lock.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A path with something behind its name.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(suffix);
    name.into()
}

/// Makes a file that only its owner can read, or opens it.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Makes the file where it is missing, and takes the rights of others away where they have any. SQLite gives the files beside it
/// the same mode.
pub(crate) fn make_private(path: &Path) -> io::Result<()> {
    let file = private(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = file.metadata()?.permissions().mode();
        if mode & 0o077 != 0 {
            tracing::warn!(path = %path.display(), mode = format!("{:o}", mode & 0o777), "others could read the store; now its mode is 600");
            file.set_permissions(fs::Permissions::from_mode(0o600))?;
            for beside in [beside(path, "-wal"), beside(path, "-shm")] {
                match fs::set_permissions(&beside, fs::Permissions::from_mode(0o600)) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
        }
    }
    drop(file);
    Ok(())
}

/// Whether this is still the file that was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Identity(u64, u64);

impl Identity {
    #[cfg(unix)]
    fn new(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Self(metadata.dev(), metadata.ino())
    }

    /// Elsewhere a file that is open can be neither removed nor replaced.
    #[cfg(not(unix))]
    fn new(_: &Metadata) -> Self {
        Self(0, 0)
    }

    /// That of the file at `path`; `None` where there is none.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        fs::metadata(path).ok().map(|metadata| Self::new(&metadata))
    }
}

/// Only one process at a time opens a file, so that none sets aside what another has just made. Free when it is dropped, and when
/// its process ends.
#[derive(Debug)]
pub(crate) struct Opening(#[expect(dead_code, reason = "it is locked while it is open")] File);

impl Opening {
    pub(crate) fn of(path: &Path, within: Duration) -> io::Result<Self> {
        let file = private(&beside(path, "-lock"))?;
        let step = Duration::from_millis(5);
        let mut waited = Duration::ZERO;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if waited >= within => {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "another process opens it"));
                }
                Err(TryLockError::WouldBlock) => wait(step),
            }
            waited = waited.saturating_add(step);
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the thread that opens a file belongs to no runtime, or was told that it blocks"
)]
fn wait(step: Duration) {
    std::thread::sleep(step);
}
