use std::fmt;
use std::io;
use std::process::ExitCode;

use crate::shown::{lines, shown};

/// Why a command did not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What it was asked to read cannot be read: exit status 1.
    Unreadable(String),
    /// It was called in a wrong way: exit status 2, which clap uses for the same.
    Usage(String),
    /// Its answer cannot be written: exit status 1, or 0 where the reader has gone, as `head` does.
    Output(io::Error),
}

impl Failure {
    /// Says it on standard error, and which status that is.
    pub(crate) fn report(self) -> ExitCode {
        match self {
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Self::Usage(_) => {
                eprintln!("error: {self}");
                ExitCode::from(2)
            }
            Self::Unreadable(_) | Self::Output(_) => {
                eprintln!("error: {self}");
                ExitCode::FAILURE
            }
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(why) | Self::Usage(why) => f.write_str(&lines(why)),
            Self::Output(error) => write!(f, "the answer cannot be written: {}", shown(&error.to_string())),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
