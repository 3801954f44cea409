//! Opens the file, whatever is there.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use forbear_core::partition::PartitionKey;
use forbear_core::store::ResponseSecret;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::aside::set_aside;
use crate::file::{Identity, Opening, beside, make_private};
use crate::settings::PAGE;
use crate::{Durability, InvalidStore, Settings, schema};

/// A file that is open.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    /// That of the file, so that a file that takes its place is seen.
    pub(crate) identity: Option<Identity>,
    /// What partitions are hashed with in this file.
    pub(crate) key: PartitionKey,
    /// What keys of responses are hashed with.
    pub(crate) secret: ResponseSecret,
    /// Where the file that was there is now, and why.
    pub(crate) aside: Option<(PathBuf, String)>,
}

/// Why a file was not opened.
enum Refused {
    /// It cannot be read by anybody, or not by this program: it is set aside.
    Damaged(String),
    /// It is not to be touched, or cannot be.
    Invalid(InvalidStore),
}

/// So much memory for pages of the file, in KiB as SQLite has it.
const CACHE: i64 = -8_192;
/// So many pages, 16 MiB, are in the log before they go into the file: keys come in no order, and each changes a page of its own.
const LOG_PAGES: i64 = 4_096;
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// Where the file is, in full, whatever directory the process changes to.
pub(crate) fn place(path: &Path) -> Result<PathBuf, InvalidStore> {
    if let Ok(whole) = fs::canonicalize(path) {
        return Ok(whole);
    }
    let Some(name) = path.file_name() else { return Err(InvalidStore::new(path, "names no file; name one")) };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let parent = fs::canonicalize(parent)
        .map_err(|error| InvalidStore::because(path, "its directory is not there; make it", error))?;
    Ok(parent.join(name))
}

/// Opens the file at `path`, or makes it, with this secret where it has none. What is there and cannot be read is set aside.
pub(crate) fn open(path: &Path, settings: &Settings, secret: ResponseSecret) -> Result<Opened, InvalidStore> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => return Err(InvalidStore::new(path, "is a directory; name a file")),
        Ok(found) if !found.is_file() => {
            return Err(InvalidStore::new(path, "is a device, a pipe or a socket; name a file"));
        }
        _ => {}
    }
    let cannot = "cannot be opened for writing; name a file in a directory that this user may write";
    let opening = Opening::of(path, settings.busy).map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => {
            let why = format!(
                "another process has been opening it for {:?}; end that, or try again",
                settings.busy
            );
            InvalidStore::new(path, why)
        }
        _ => InvalidStore::because(path, cannot, error),
    })?;
    let mut aside = None;
    loop {
        match attempt(path, settings, secret) {
            Ok((connection, key, secret)) => {
                drop(opening);
                return Ok(Opened { connection, identity: Identity::of(path), key, secret, aside });
            }
            Err(Refused::Damaged(why)) if aside.is_none() => {
                let kept = set_aside(path).map_err(|error| {
                    let problem = format!("cannot be read ({why}) nor renamed; move it away");
                    InvalidStore::because(path, problem, error)
                })?;
                tracing::error!(
                    path = %path.display(), aside = %kept.display(), why,
                    "store cannot be read: it is set aside, and what it held is not known"
                );
                aside = Some((kept, why));
            }
            // One that was just made.
            Err(Refused::Damaged(why)) => {
                return Err(InvalidStore::new(
                    path,
                    format!("does not keep what is written ({why}); name a file elsewhere"),
                ));
            }
            Err(Refused::Invalid(invalid)) => return Err(invalid),
        }
    }
}

fn attempt(
    path: &Path,
    settings: &Settings,
    secret: ResponseSecret,
) -> Result<(Connection, PartitionKey, ResponseSecret), Refused> {
    let io = |error| {
        let problem = "cannot be opened for writing; name a file that this user may write";
        Refused::Invalid(InvalidStore::because(path, problem, error))
    };
    make_private(path).map_err(io)?;
    whole(path).map_err(io)?.map_err(|why| Refused::Damaged(why.into()))?;
    let sql = |error| refused(path, error);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(sql)?;
    connection.busy_timeout(settings.busy).map_err(sql)?;
    connection.set_prepared_statement_cache_capacity(64);
    whose(path, &connection)?;
    let mode: String =
        connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(sql)?;
    if mode != "wal" {
        let problem = format!(
            "its file system allows no write-ahead log (journal mode {mode:?}); name a file on a local disk"
        );
        return Err(Refused::Invalid(InvalidStore::new(path, problem)));
    }
    let synchronous = match settings.durability {
        Durability::Full => "FULL",
        Durability::Process => "NORMAL",
    };
    connection.pragma_update(None, "synchronous", synchronous).map_err(sql)?;
    connection.pragma_update(None, "trusted_schema", false).map_err(sql)?;
    connection.pragma_update(None, "cell_size_check", true).map_err(sql)?;
    connection.pragma_update(None, "cache_size", CACHE).map_err(sql)?;
    connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES).map_err(sql)?;
    if let Some(bytes) = settings.max_size {
        let pages = i64::try_from(bytes / PAGE).unwrap_or(i64::MAX);
        connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).map_err(sql)?;
    }
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(sql)?;
    if found != "ok" {
        return Err(Refused::Damaged(found));
    }
    let tables = |error| match error {
        error if fits_not(&error) => {
            Refused::Damaged(format!("its tables are not those of its version: {error}"))
        }
        error => sql(error),
    };
    let (key, secret) = schema::migrate(&mut connection, secret).map_err(tables)?;
    crate::cooldowns::prepare(&connection).map_err(tables)?;
    crate::work::prepare(&connection).map_err(tables)?;
    crate::responses::prepare(&connection).map_err(tables)?;
    Ok((connection, key, secret))
}

/// Whether there is a whole database, or nothing. SQLite reads what is missing of a last page as zeros, and may find nothing wrong with
/// that. A log beside it may have what is missing.
fn whole(path: &Path) -> io::Result<Result<(), &'static str>> {
    let file = fs::File::open(path)?;
    let length = file.metadata()?.len();
    let mut head = Vec::with_capacity(32);
    file.take(32).read_to_end(&mut head)?;
    if head.is_empty() {
        return Ok(Ok(()));
    }
    let Some((MAGIC, rest)) = head.split_first_chunk::<16>() else { return Ok(Err("it is no database")) };
    let log = fs::metadata(beside(path, "-wal")).is_ok_and(|log| log.len() > 0);
    if log {
        return Ok(Ok(()));
    }
    let cut = "it is cut off";
    let &[high, low, .., a, b, c, d] = rest else { return Ok(Err(cut)) };
    let page = match u64::from(u16::from_be_bytes([high, low])) {
        1 => 65_536,
        size => size,
    };
    let pages = u64::from(u32::from_be_bytes([a, b, c, d]));
    let fits = page > 0 && length % page == 0 && length >= pages.saturating_mul(page);
    Ok(if fits { Ok(()) } else { Err(cut) })
}

/// Whether it is a file of ours, and of a version that can be read.
fn whose(path: &Path, connection: &Connection) -> Result<(), Refused> {
    let number = |query: &str| -> Result<i64, Refused> {
        connection.query_row(query, [], |row| row.get(0)).map_err(|error| refused(path, error))
    };
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    if tables == 0 {
        return Ok(());
    }
    if number("PRAGMA application_id")? != schema::APPLICATION {
        let problem = "is the database of another program; name another file";
        return Err(Refused::Invalid(InvalidStore::new(path, problem)));
    }
    let version = number("PRAGMA user_version")?;
    if !(1..=schema::version()).contains(&version) {
        let why = format!("it is of version {version}, and this program reads up to {}", schema::version());
        return Err(Refused::Damaged(why));
    }
    Ok(())
}

fn refused(path: &Path, error: rusqlite::Error) -> Refused {
    if is_damage(&error) {
        return Refused::Damaged(error.to_string());
    }
    let problem = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            "another process holds it; end that, or try again"
        }
        Some(ErrorCode::DiskFull) => "its disk is full; make room",
        _ => "cannot be opened; name a file that this user may write, on a local disk",
    };
    Refused::Invalid(InvalidStore::because(path, problem, error))
}

/// Whether what is in the file cannot be read, whoever tries.
pub(crate) fn is_damage(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Whether a statement that is right for the tables of its version does not fit those that are there.
fn fits_not(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, InvalidColumnType, SqlInputError};
    matches!(error, SqlInputError { .. } | InvalidColumnType(..) | FromSqlConversionFailure(..))
        || error.sqlite_error_code() == Some(ErrorCode::Unknown)
}
