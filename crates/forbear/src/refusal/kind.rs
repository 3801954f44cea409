use crate::Error;

/// What kind of problem a caller is told of: the fragment of its type's URI, which does not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A local decision not to send.
    Refused,
    /// The vendor limits this server.
    Limited,
    /// The time, or the attempts, of the request are spent.
    BudgetExhausted,
    /// No family has what was asked for.
    UnknownFamily,
    /// The client failed.
    ClientFailed,
}

impl Kind {
    /// All of them.
    #[cfg(test)]
    pub(super) const ALL: [Self; 5] =
        [Self::Refused, Self::Limited, Self::BudgetExhausted, Self::UnknownFamily, Self::ClientFailed];

    pub(super) const fn of(error: &Error) -> Self {
        match error {
            Error::BudgetExhausted(_) => Self::BudgetExhausted,
            Error::UnknownFamily(_) => Self::UnknownFamily,
            Error::Client(_) => Self::ClientFailed,
            _ => Self::Refused,
        }
    }

    /// The URI that names it in a problem's `type`.
    #[must_use]
    pub const fn uri(self) -> &'static str {
        match self {
            Self::Refused => "https://github.com/forbear-rs/forbear/blob/main/docs/problems.md#refused",
            Self::Limited => "https://github.com/forbear-rs/forbear/blob/main/docs/problems.md#limited",
            Self::BudgetExhausted => {
                "https://github.com/forbear-rs/forbear/blob/main/docs/problems.md#budget-exhausted"
            }
            Self::UnknownFamily => {
                "https://github.com/forbear-rs/forbear/blob/main/docs/problems.md#unknown-family"
            }
            Self::ClientFailed => {
                "https://github.com/forbear-rs/forbear/blob/main/docs/problems.md#client-failed"
            }
        }
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Refused => "The vendor is not called for now",
            Self::Limited => "The vendor limits this server",
            Self::BudgetExhausted => "The budget of this request is spent",
            Self::UnknownFamily => "No vendor is set up for this",
            Self::ClientFailed => "The vendor could not be asked",
        }
    }

    /// Who said no; `None` where nobody did.
    pub(super) const fn by(self) -> Option<&'static str> {
        match self {
            Self::Limited => Some("vendor"),
            Self::ClientFailed => None,
            _ => Some("local"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_has_its_heading_on_the_page_that_its_uri_names() {
        let page = include_str!("../../../../docs/problems.md");
        for kind in Kind::ALL {
            let (file, fragment) = kind.uri().rsplit_once('#').unwrap();
            assert!(file.ends_with("/docs/problems.md"));
            assert!(page.lines().any(|line| line == format!("## {fragment}")), "{fragment}");
            assert!(page.contains(kind.title()), "{kind:?}");
        }
    }
}
