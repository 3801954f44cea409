//! A row of the table `responses`, and its body.

use std::sync::Arc;

use bytes::Bytes;
use forbear_core::store::{ResponseKey, ResponseSecret, StoredResponse, fields_from_bytes, fields_to_bytes};
use forbear_core::work::Stamp;
use http::StatusCode;

use crate::row::read_stamp;

/// In the order in which they are read.
pub(super) const COLUMNS: &str =
    "responses.id, what, whose, variant, host, family, status, received_ms, used_ms, sum, fields, body";

/// What is written of a response beside its body.
pub(super) struct Head<'a> {
    pub(super) key: ResponseKey,
    pub(super) variant: u128,
    pub(super) host: &'a str,
    pub(super) family: Option<&'a str>,
    pub(super) status: u16,
    pub(super) received: Stamp,
    pub(super) used: Stamp,
    pub(super) bytes: i64,
    pub(super) sum: i64,
    pub(super) fields: Vec<u8>,
}

impl<'a> Head<'a> {
    pub(super) fn of(response: &'a StoredResponse, now: Stamp, secret: &ResponseSecret) -> Self {
        let fields = fields_to_bytes(&response.fields);
        let received = now.before(response.age);
        let sum = sum(secret, response, received, &fields);
        Self {
            key: response.key,
            variant: response.variant,
            host: &response.host,
            family: response.family.as_deref(),
            status: response.status.as_u16(),
            received,
            used: now,
            bytes: i64::try_from(response.bytes()).unwrap_or(i64::MAX),
            sum,
            fields,
        }
    }
}

/// What stands in the table: a number, and what is known of it.
pub(super) struct Found {
    pub(super) id: i64,
    /// `None` where nobody can have written that.
    pub(super) row: Option<Kept>,
}

pub(super) struct Kept {
    /// Its age is for the reader to say.
    pub(super) response: StoredResponse,
    pub(super) received: Stamp,
    pub(super) used: Stamp,
    sum: i64,
}

impl Kept {
    /// Whether it is what was written.
    pub(super) fn is_whole(&self, secret: &ResponseSecret) -> bool {
        sum(secret, &self.response, self.received, &fields_to_bytes(&self.response.fields)) == self.sum
    }
}

pub(super) fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Found> {
    let id = row.get(0)?;
    let hash = |at: usize| Ok::<_, rusqlite::Error>(row.get_ref(at)?.as_blob()?.try_into().ok());
    let (what, whose, variant) = (hash(1)?, hash(2)?, hash(3)?);
    let host = row.get_ref(4)?.as_str().ok().map(Arc::from);
    let family = row.get_ref(5)?.as_str_or_null().map(|family| family.map(Arc::from)).ok();
    let status =
        u16::try_from(row.get::<_, i64>(6)?).ok().and_then(|status| StatusCode::from_u16(status).ok());
    let fields = fields_from_bytes(row.get_ref(10)?.as_blob()?);
    let body: Vec<u8> = row.get(11)?;
    let (received, used, sum) = (read_stamp(row.get(7)?), read_stamp(row.get(8)?), row.get(9)?);
    let kept = || {
        let number = |bytes: Option<[u8; 16]>| bytes.map(u128::from_be_bytes);
        let response = StoredResponse {
            key: ResponseKey { what: number(what)?, whose: number(whose)? },
            variant: number(variant)?,
            host: host?,
            family: family?,
            status: status?,
            fields: fields?,
            body: Bytes::from(body),
            age: std::time::Duration::ZERO,
        };
        Some(Kept { response, received, used, sum })
    };
    Ok(Found { id, row: kept() })
}

/// SQLite sees no damage within a value.
fn sum(secret: &ResponseSecret, response: &StoredResponse, received: Stamp, fields: &[u8]) -> i64 {
    let StoredResponse { key, variant, host, family, status, body, .. } = response;
    let mut hash = secret.hash(b's');
    for number in [key.what, key.whose, *variant, received.as_millis().into(), status.as_u16().into()] {
        let _ = hash.part(&number.to_be_bytes());
    }
    let _ = hash.part(host.as_bytes()).part(fields).part(body);
    if let Some(family) = family {
        let _ = hash.part(family.as_bytes());
    }
    (hash.finish() as u64).cast_signed()
}
