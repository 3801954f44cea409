use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

/// A place where no store can be, or a setting that cannot work, and why.
#[derive(Debug)]
pub struct InvalidStore {
    path: PathBuf,
    problem: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl InvalidStore {
    pub(crate) fn new(path: &Path, problem: impl Into<String>) -> Self {
        Self { path: path.to_owned(), problem: problem.into(), source: None }
    }

    pub(crate) fn because(
        path: &Path,
        problem: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self { source: Some(source.into()), ..Self::new(path, problem) }
    }

    /// The file that it is about.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for InvalidStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "store {:?}: {}", self.path, self.problem)
    }
}

impl Error for InvalidStore {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
