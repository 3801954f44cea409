//! The lists of the `RateLimit` fields, read without a map for the parameters of each item.

use std::borrow::Cow;
use std::convert::Infallible;

use sfv::visitor::{EntryVisitor, Ignored, InnerListVisitor, ItemVisitor, ListVisitor, ParameterVisitor};
use sfv::{BareItemFromInput, KeyRef, Parser, StringRef};

/// One item whose value is a string: its name, and two of its parameters.
pub(super) struct Policy<'f> {
    pub(super) name: Cow<'f, StringRef>,
    pub(super) numbers: [Number; 2],
    /// The partition key.
    pub(super) pk: Option<Vec<u8>>,
}

/// What a parameter says that is to be an integer, and not negative.
#[derive(Debug, Clone, Copy)]
pub(super) enum Number {
    Absent,
    Is(u64),
    Wrong,
}

impl Number {
    /// Its value, if it has one; `None` where it is wrong.
    pub(super) fn right(self) -> Option<Option<u64>> {
        match self {
            Self::Absent => Some(None),
            Self::Is(number) => Some(Some(number)),
            Self::Wrong => None,
        }
    }

    /// Its value, if it has one.
    pub(super) fn value(self) -> Option<u64> {
        self.right().flatten()
    }
}

/// The items of a list whose value is a string, each with the parameters of these names; `None` where it is no list.
pub(super) fn policies<'f>(field: &'f [u8], names: [&'static str; 2]) -> Option<Vec<Policy<'f>>> {
    Parser::new(field).parse_list_with_visitor(List { names, policies: Vec::new() }).ok()
}

struct List<'f> {
    names: [&'static str; 2],
    policies: Vec<Policy<'f>>,
}

impl<'f> ListVisitor<'f> for List<'f> {
    type Out = Vec<Policy<'f>>;
    type Error = Infallible;

    fn entry(&mut self) -> Result<impl EntryVisitor<'f>, Infallible> {
        Ok(Entry(self))
    }

    fn finish(self) -> Result<Self::Out, Infallible> {
        Ok(self.policies)
    }
}

struct Entry<'l, 'f>(&'l mut List<'f>);

impl<'f> EntryVisitor<'f> for Entry<'_, 'f> {
    type Error = Infallible;

    fn item(self) -> Result<impl ItemVisitor<'f>, Infallible> {
        Ok(self)
    }

    fn inner_list(self) -> Result<impl InnerListVisitor<'f>, Infallible> {
        Ok(Ignored)
    }
}

impl<'l, 'f> ItemVisitor<'f> for Entry<'l, 'f> {
    type Out = ();
    type Error = Infallible;

    fn bare_item(
        self,
        item: BareItemFromInput<'f>,
    ) -> Result<impl ParameterVisitor<'f, Out = ()>, Infallible> {
        let BareItemFromInput::String(name) = item else {
            return Ok(Parameters { names: self.0.names, policy: None });
        };
        self.0.policies.push(Policy { name, numbers: [Number::Absent; 2], pk: None });
        Ok(Parameters { names: self.0.names, policy: self.0.policies.last_mut() })
    }
}

struct Parameters<'l, 'f> {
    names: [&'static str; 2],
    policy: Option<&'l mut Policy<'f>>,
}

impl<'f> ParameterVisitor<'f> for Parameters<'_, 'f> {
    type Out = ();
    type Error = Infallible;

    /// Of several of one name the last counts (RFC 9651 section 4.2.3.2).
    fn parameter(&mut self, key: &'f KeyRef, value: BareItemFromInput<'f>) -> Result<(), Infallible> {
        let Some(policy) = &mut self.policy else { return Ok(()) };
        if key.as_str() == "pk" {
            policy.pk = if let BareItemFromInput::ByteSequence(bytes) = value { Some(bytes) } else { None };
            return Ok(());
        }
        for (name, number) in self.names.iter().zip(&mut policy.numbers) {
            if key.as_str() == *name {
                *number = match &value {
                    BareItemFromInput::Integer(value) => {
                        u64::try_from(i64::from(*value)).map_or(Number::Wrong, Number::Is)
                    }
                    _ => Number::Wrong,
                };
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<(), Infallible> {
        Ok(())
    }
}
