use super::Families;
use crate::clock;
use crate::keeper::Keeper;

impl Families {
    /// Ends every wait for a vendor, for a server that stops: its handlers are to end soon, not when a vendor is well.
    ///
    /// | a logical request that | ends |
    /// |---|---|
    /// | waits: for a cool-down, a probe, its place in a recovery, or the recorded deadline of its URL | at once: with [`Error::Cooling`](crate::Error::Cooling), cause [`ShuttingDown`](crate::RefusalCause::ShuttingDown); or, where a vendor's answer was let go before, with [`Error::BudgetExhausted`](crate::Error::BudgetExhausted) |
    /// | enters later and would have to wait | the same way, without waiting |
    /// | meets a limited answer later | with that answer |
    /// | is in flight | as ever: nothing is cancelled, and its answer is judged, a probe's too |
    /// | enters later and need not wait | as ever: a handler that ends in good order may have something left to say |
    ///
    /// Nobody is sent for it, so it is no stampede. Health says so, and is not `ready` any more; one INFO event is
    /// emitted. It cannot be undone, and again it changes nothing.
    ///
    /// It belongs where the server is told to stop: with axum, into the future of `with_graceful_shutdown`.
    ///
    /// ```
    /// use forbear::Families;
    ///
    /// async fn told_to_stop(families: Families, stop: impl Future<Output = ()>) {
    ///     stop.await;
    ///     families.shutdown();
    /// }
    /// ```
    ///
    /// A [`RetryAfterLayer`](crate::RetryAfterLayer) without a gate below it in the same task (there is none, or a buffer
    /// stands between) is not told: what it waits for by itself ends with its budget.
    pub fn shutdown(&self) {
        if let Some(waiting) = self.0.shut_down(clock::now()) {
            tracing::info!(waiting, "shutting down");
            if let Some(keeper) = Keeper::of(&self.0) {
                keeper.hurry();
            }
        }
    }
}
