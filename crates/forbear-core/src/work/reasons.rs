use super::names::DemandReason;

/// Who wants a key: a set, in the order of their names. At most [`Reasons::MOST`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reasons(Box<[DemandReason]>);

impl Reasons {
    /// The most reasons that one key has.
    pub const MOST: usize = 256;

    /// Nobody.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Whether nobody wants it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is wanted for this reason.
    #[must_use]
    pub fn contains(&self, reason: &DemandReason) -> bool {
        self.0.binary_search(reason).is_ok()
    }

    /// All of them, in the order of their names.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &DemandReason> {
        self.0.iter()
    }

    /// Adds one; `false` where there is no room.
    #[must_use]
    pub(super) fn add(&mut self, reason: &DemandReason) -> bool {
        let Err(at) = self.0.binary_search(reason) else { return true };
        if self.0.len() >= Self::MOST {
            return false;
        }
        let mut all = std::mem::take(&mut self.0).into_vec();
        all.insert(at, reason.clone());
        self.0 = all.into();
        true
    }

    /// Takes one away; `false` where it was none.
    #[must_use]
    pub(super) fn drop(&mut self, reason: &DemandReason) -> bool {
        let Ok(at) = self.0.binary_search(reason) else { return false };
        let mut all = std::mem::take(&mut self.0).into_vec();
        all.remove(at);
        self.0 = all.into();
        true
    }
}

/// As a store reads them: any order, doubles; what is beyond [`Reasons::MOST`] is left out.
impl FromIterator<DemandReason> for Reasons {
    fn from_iter<I: IntoIterator<Item = DemandReason>>(reasons: I) -> Self {
        let mut all: Vec<_> = reasons.into_iter().collect();
        all.sort_unstable();
        all.dedup();
        all.truncate(Self::MOST);
        Self(all.into())
    }
}
