//! The client: hyper-util and rustls.

use std::sync::Arc;
use std::time::Duration;

use forbear::{Families, Vendor, body::Replay};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::CertificateDer;
use rustls::{ClientConfig, RootCertStore, crypto::ring};

use crate::BoxError;

/// A client for `https` with the stack around it. HTTP/2 where the server has it, else HTTP/1.
pub type HttpsVendor<B> = Vendor<Client<HttpsConnector<HttpConnector>, Replay<B>>>;

/// Trusts whom the platform trusts.
///
/// # Errors
/// Where the platform does not tell whom that is.
pub fn platform<B>(families: &Families, budget: Duration) -> Result<HttpsVendor<B>, BoxError>
where
    B: http_body::Body + Send + Unpin + 'static,
    B::Error: Into<forbear::BoxError>,
{
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .try_with_platform_verifier()?
        .with_no_client_auth();
    Ok(client(tls, families, budget))
}

/// Trusts one certificate, such as a test server's own.
///
/// # Errors
/// Where it is none.
pub fn trusting<B>(
    certificate: CertificateDer<'static>,
    families: &Families,
    budget: Duration,
) -> Result<HttpsVendor<B>, BoxError>
where
    B: http_body::Body + Send + Unpin + 'static,
    B::Error: Into<forbear::BoxError>,
{
    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(client(tls, families, budget))
}

fn client<B>(tls: ClientConfig, families: &Families, budget: Duration) -> HttpsVendor<B>
where
    B: http_body::Body + Send + Unpin + 'static,
    B::Error: Into<forbear::BoxError>,
{
    let connector =
        HttpsConnectorBuilder::new().with_tls_config(tls).https_only().enable_all_versions().build();
    forbear::stack(families).budget(budget).service(Client::builder(TokioExecutor::new()).build(connector))
}
