//! Storm control: further attempts are a share of the good answers.

use crate::sync::atomic::{AtomicU64, Ordering};

/// What one attempt costs, in milli-tokens.
const TOKEN: u64 = 1000;
/// As many tokens are kept at least, where the settings do not say.
const KEPT: u32 = 100;

/// How many further attempts (the second of a logical request, the third, and so on) a family allows: after n good answers
/// never more than ⌊ratio · n⌋ + reserve. Integer arithmetic, exact for every ratio of whole thousandths.
///
/// It is the family's, whoever asks and whichever partition: a vendor in trouble is in trouble for all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryQuota {
    pub(super) reserve: u32,
    pub(super) permille: u32,
    pub(super) at_most: u32,
}

impl RetryQuota {
    /// A quota that begins with `reserve` further attempts and earns one with every ten good answers. What is not used is
    /// kept, up to `reserve` or 100 attempts, whichever is more.
    #[must_use]
    pub const fn new(reserve: u32) -> Self {
        Self { reserve, permille: 100, at_most: if reserve > KEPT { reserve } else { KEPT } }
    }

    /// Earns so many thousandths of a further attempt with every good answer (100): 1 to 10,000.
    #[must_use]
    pub const fn permille(mut self, permille: u32) -> Self {
        self.permille = permille;
        self
    }

    /// Keeps so many further attempts that were earned and not used, but never fewer than the reserve.
    #[must_use]
    pub const fn at_most(mut self, attempts: u32) -> Self {
        self.at_most = if attempts > self.reserve { attempts } else { self.reserve };
        self
    }

    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        if !(1..=10_000).contains(&self.permille) {
            let permille = self.permille;
            return Err(("retry_quota", format!("{permille} thousandths; it must be 1 to 10000")));
        }
        if self.at_most == 0 {
            return Err(("retry_quota", "empty for ever: it must keep at least one attempt".into()));
        }
        Ok(())
    }
}

/// The bucket of a [`RetryQuota`], in milli-tokens: conserved whatever threads do to it.
#[derive(Debug)]
pub(super) struct Retries {
    tokens: AtomicU64,
    /// Milli-tokens that a good answer earns; zero where there is no quota.
    earns: AtomicU64,
    most: AtomicU64,
}

impl Retries {
    pub(super) fn new(quota: Option<RetryQuota>) -> Self {
        let retries = Self { tokens: AtomicU64::new(0), earns: AtomicU64::new(0), most: AtomicU64::new(0) };
        retries.configure(quota);
        retries
    }

    /// Counts by another quota. Where there was none it begins with its reserve; else what is there stays, up to what is kept.
    pub(super) fn configure(&self, quota: Option<RetryQuota>) {
        let Some(quota) = quota else { return self.earns.store(0, Ordering::Relaxed) };
        let most = u64::from(quota.at_most).saturating_mul(TOKEN);
        self.most.store(most, Ordering::Relaxed);
        if self.earns.swap(quota.permille.into(), Ordering::Relaxed) == 0 {
            self.tokens.store(u64::from(quota.reserve).saturating_mul(TOKEN), Ordering::Relaxed);
        } else {
            let _ = self.change(|tokens| Some(tokens.min(most)));
        }
    }

    /// Whether there is a quota.
    pub(super) fn limits(&self) -> bool {
        self.earns.load(Ordering::Relaxed) > 0
    }

    /// A good answer.
    pub(super) fn deposit(&self) {
        let earns = self.earns.load(Ordering::Relaxed);
        if earns > 0 {
            self.add(earns);
        }
    }

    /// Takes a token for a further attempt; false where there is none.
    #[must_use]
    pub(super) fn withdraw(&self) -> bool {
        !self.limits() || self.change(|tokens| tokens.checked_sub(TOKEN))
    }

    /// The further attempt was not sent.
    pub(super) fn give_back(&self) {
        if self.limits() {
            self.add(TOKEN);
        }
    }

    /// Further attempts that are left.
    pub(super) fn left(&self) -> u64 {
        self.tokens.load(Ordering::Relaxed) / TOKEN
    }

    fn add(&self, tokens: u64) {
        let most = self.most.load(Ordering::Relaxed);
        let _ = self.change(|known| (known < most).then(|| known.saturating_add(tokens).min(most)));
    }

    /// Nothing else is read by what is found here, so no order is needed: each change is whole.
    fn change(&self, to: impl FnMut(u64) -> Option<u64>) -> bool {
        self.tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, to).is_ok()
    }
}
