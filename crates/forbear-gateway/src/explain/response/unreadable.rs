use std::error::Error;
use std::fmt;

/// Why an input is no response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unreadable {
    /// There is nothing in it.
    Empty,
    /// It is in UTF-16.
    Utf16,
    /// It begins with something else than a status line: this.
    NoStatusLine(String),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("the input is empty: give what `curl -si URL` prints"),
            Self::Utf16 => f.write_str(
                "the input is UTF-16, as `>` writes it in PowerShell: let curl write it, by `curl -si -o FILE URL`",
            ),
            Self::NoStatusLine(found) if found.starts_with(['<', '>', '*']) => write!(
                f,
                "the input begins with `{found}`, as what `curl -v` prints does: give what `curl -si URL` prints"
            ),
            Self::NoStatusLine(found) => write!(
                f,
                "the input begins with `{found}`, which is no status line such as `HTTP/1.1 429 Too Many Requests`: give \
                 what `curl -si URL` prints, head and all"
            ),
        }
    }
}

impl Error for Unreadable {}
