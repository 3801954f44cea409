//! Vendors that are known: their hosts, their dialects, and the limits that they publish.
//!
//! Each is a file of the words that [`dialect::words`](crate::dialect::words) describes, and is compiled when it is first
//! asked for. What a vendor says may change: each file names its source.

mod preset;
mod unknown;

pub use preset::{Preset, PublishedLimit};
pub use unknown::UnknownVendor;

use std::sync::LazyLock;

use preset::Compiled;

macro_rules! vendors {
    ($($name:literal $function:ident $doc:literal;)*) => {
        $(
            #[doc = $doc]
            #[must_use]
            pub fn $function() -> Preset {
                static COMPILED: LazyLock<Compiled> =
                    LazyLock::new(|| Compiled::of($name, include_str!(concat!("vendors/", $name, ".toml"))));
                Preset::of(&COMPILED)
            }
        )*

        /// The names of all of them, in order.
        pub const NAMES: &[&str] = &[$($name),*];

        const FUNCTIONS: &[fn() -> Preset] = &[$($function),*];
    };
}

vendors! {
    "airtable" airtable "Airtable.";
    "alpha-vantage" alpha_vantage "Alpha Vantage.";
    "anthropic" anthropic "Anthropic.";
    "atlassian-data-center" atlassian_data_center "Jira and Confluence Data Center.";
    "aws" aws "AWS services in general.";
    "aws-api-gateway" aws_api_gateway "Amazon API Gateway.";
    "aws-dynamodb" aws_dynamodb "Amazon DynamoDB.";
    "aws-ec2" aws_ec2 "Amazon EC2.";
    "aws-s3" aws_s3 "Amazon S3.";
    "azure-arm" azure_arm "Azure Resource Manager.";
    "azure-cosmos" azure_cosmos "Azure Cosmos DB.";
    "azure-openai" azure_openai "Azure OpenAI.";
    "binance" binance "Binance.";
    "brave-search" brave_search "Brave Search.";
    "cloudflare-api" cloudflare_api "Cloudflare's own API.";
    "cloudflare-do-backpressure" cloudflare_do_backpressure "A Cloudflare Worker before Durable Objects.";
    "cloudflare-edge" cloudflare_edge "Cloudflare's edge, before any vendor.";
    "coinbase" coinbase "Coinbase.";
    "coingecko" coingecko "CoinGecko.";
    "crates-io" crates_io "crates.io.";
    "discord" discord "Discord.";
    "discord-api-v6" discord_api_v6 "Discord, versions 6 and 7.";
    "docker-hub" docker_hub "Docker Hub.";
    "fastly-api" fastly_api "Fastly's own API.";
    "finra" finra "FINRA.";
    "fred" fred "FRED, of the Federal Reserve Bank of St. Louis.";
    "github" github "GitHub.";
    "gitlab" gitlab "GitLab.";
    "google-cloud" google_cloud "Google Cloud APIs in general.";
    "google-drive" google_drive "Google Drive.";
    "google-gemini" google_gemini "Google Gemini.";
    "google-youtube" google_youtube "YouTube Data API.";
    "groq" groq "Groq.";
    "grpc" grpc "gRPC services in general.";
    "hubspot" hubspot "HubSpot.";
    "ietf-ratelimit" ietf_ratelimit "A vendor that keeps to draft-ietf-httpapi-ratelimit-headers.";
    "jira-cloud" jira_cloud "Jira Cloud.";
    "kraken" kraken "Kraken.";
    "launchdarkly" launchdarkly "LaunchDarkly.";
    "lemlist" lemlist "Lemlist.";
    "linear" linear "Linear.";
    "mailerlite" mailerlite "MailerLite.";
    "mediawiki" mediawiki "MediaWiki, such as Wikipedia.";
    "meta-graph" meta_graph "Meta Graph API.";
    "microsoft-graph" microsoft_graph "Microsoft Graph.";
    "nasdaq-data-link" nasdaq_data_link "Nasdaq Data Link.";
    "nginx" nginx "A server behind nginx.";
    "notion" notion "Notion.";
    "npm" npm "The npm registry.";
    "okta" okta "Okta.";
    "openai" openai "OpenAI.";
    "prisjakt" prisjakt "Prisjakt.";
    "pypi" pypi "PyPI.";
    "rapidapi" rapidapi "RapidAPI.";
    "reddit" reddit "Reddit.";
    "salesforce" salesforce "Salesforce.";
    "sec-edgar" sec_edgar "SEC EDGAR.";
    "sentry" sentry "Sentry.";
    "shopify-graphql" shopify_graphql "Shopify, GraphQL.";
    "shopify-rest" shopify_rest "Shopify, REST.";
    "slack" slack "Slack.";
    "spotify" spotify "Spotify.";
    "stripe" stripe "Stripe.";
    "telegram-bot" telegram_bot "Telegram Bot API.";
    "twitch" twitch "Twitch.";
    "x-twitter" x_twitter "X, once Twitter.";
    "yahoo-finance" yahoo_finance "Yahoo Finance.";
    "zendesk" zendesk "Zendesk.";
}

/// All of them, in the order of [`NAMES`].
pub fn all() -> impl Iterator<Item = Preset> {
    FUNCTIONS.iter().map(|function| function())
}

/// The one of this name.
///
/// # Errors
///
/// [`UnknownVendor`] names the nearest.
pub fn named(name: &str) -> Result<Preset, UnknownVendor> {
    let found = NAMES.iter().zip(FUNCTIONS).find(|(known, _)| **known == name);
    found.map(|(_, function)| function()).ok_or_else(|| UnknownVendor::new(name))
}
