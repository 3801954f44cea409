//! A file that cannot be read is kept under another name.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::file::beside;

/// Renames the file, and what belongs to it, and says where it is now. Nothing is deleted.
pub(crate) fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let aside = free_name(path);
    fs::rename(path, &aside)?;
    for suffix in ["-wal", "-shm"] {
        match fs::rename(beside(path, suffix), beside(&aside, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    if let Some(directory) = path.parent() {
        // Where a directory cannot be synced it need not be.
        let _ = File::open(directory).and_then(|directory| directory.sync_all());
    }
    Ok(aside)
}

fn free_name(path: &Path) -> PathBuf {
    let seconds = now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let name = |number: u32| match number {
        0 => beside(path, &format!(".corrupt-{seconds}")),
        number => beside(path, &format!(".corrupt-{seconds}-{number}")),
    };
    (0..u32::MAX).map(name).find(|name| !name.exists()).unwrap_or_else(|| name(u32::MAX))
}

#[expect(clippy::disallowed_methods, reason = "a name for people; nothing is decided by it")]
fn now() -> SystemTime {
    SystemTime::now()
}
