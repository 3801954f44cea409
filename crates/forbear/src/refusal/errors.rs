use std::error::Error as StdError;

use super::told::Refusal;
use crate::body::BoxError;

/// How a handler's errors are looked into, and what becomes of those that tell of no refusal.
pub trait Errors<E>: sealed::Sealed {
    /// The error that is left.
    type Left;

    /// An error that is handed on.
    fn left(error: E) -> Self::Left;

    /// The refusal in its chain of sources.
    ///
    /// # Errors
    /// Where there is none: the error itself.
    fn look(error: E) -> Result<Refusal, Self::Left>;
}

/// Errors with a type of their own, which they keep.
#[derive(Debug, Clone, Copy, Default)]
pub struct Typed;

/// Errors that are a [`BoxError`], or can become one.
#[derive(Debug, Clone, Copy, Default)]
pub struct Boxed;

impl<E: StdError + 'static> Errors<E> for Typed {
    type Left = E;

    fn left(error: E) -> E {
        error
    }

    fn look(error: E) -> Result<Refusal, E> {
        Refusal::find(&error).ok_or(error)
    }
}

impl<E: Into<BoxError>> Errors<E> for Boxed {
    type Left = BoxError;

    fn left(error: E) -> BoxError {
        error.into()
    }

    fn look(error: E) -> Result<Refusal, BoxError> {
        let error = error.into();
        Refusal::find(error.as_ref()).ok_or(error)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Typed {}
    impl Sealed for super::Boxed {}
}
