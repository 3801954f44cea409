/// A vendor's answer, in which forbear tells whether it is limited: a response of `http`, or of reqwest with the feature
/// `reqwest`. Sealed.
pub trait Answer: sealed::Sealed {}

impl<B> Answer for http::Response<B> {}

#[cfg(feature = "reqwest")]
impl Answer for reqwest::Response {}

pub(super) mod sealed {
    pub trait Sealed {
        fn extensions(&self) -> &http::Extensions;
    }

    impl<B> Sealed for http::Response<B> {
        fn extensions(&self) -> &http::Extensions {
            Self::extensions(self)
        }
    }

    #[cfg(feature = "reqwest")]
    impl Sealed for reqwest::Response {
        fn extensions(&self) -> &http::Extensions {
            Self::extensions(self)
        }
    }
}
