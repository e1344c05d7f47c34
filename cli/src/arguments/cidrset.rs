//! The words of `cidrset`.

use std::path::PathBuf;

use clap::{Args, Subcommand, builder::RangedI64ValueParser};
use sluice_policy::cidr_set::{MAX_CIDRS, check_list_name, feed, parse_label};

use super::ExplainFormat;

/// Words of `cidrset`.
#[derive(Args, Debug)]
pub struct CidrsetArguments {
    /// What to do.
    #[command(subcommand)]
    pub command: CidrsetCommand,
}

/// What to do with lists of addresses.
#[derive(Debug, Subcommand)]
pub enum CidrsetCommand {
    /// Say what is in a published list of addresses, and what is wrong with it
    ///
    /// Changes nothing. Ends with 1 if any entry would be left out, or the whole list refused.
    Check(CheckArguments),
    /// Turn a published list of addresses into `XdpCidrSet` files in a policy directory
    ///
    /// The list becomes several sets, NAME-000.yaml and so on, under the label sluice.dev/list: NAME,
    /// which a rule names in a sourceSetSelector. Files that do not change are not touched. Bad lines
    /// are left out and told; a list that is empty, cut off or mostly bad is refused, and the sets stay
    /// as they are.
    Apply(ApplyArguments),
    /// List the address sets of a policy directory
    List(ListArguments),
}

/// Words of `cidrset check`.
#[derive(Args, Debug)]
pub struct CheckArguments {
    /// File with one prefix or address a line, or one JSON object a line; - is standard input
    #[arg(value_name = "FEED")]
    pub feed: PathBuf,
    /// What to let pass.
    #[command(flatten)]
    pub options: FeedOptions,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = ExplainFormat::Text)]
    pub output: ExplainFormat,
}

/// Words of `cidrset apply`.
#[derive(Args, Debug)]
pub struct ApplyArguments {
    /// File with one prefix or address a line, or one JSON object a line; - is standard input
    #[arg(short = 'f', long = "filename", value_name = "FEED")]
    pub feed: PathBuf,
    /// Name of the list, which the names of its sets begin with
    #[arg(long, value_parser = list_name)]
    pub name: String,
    /// The policy directory
    #[arg(long, value_name = "DIR")]
    pub directory: PathBuf,
    /// A label that every set of the list gets, besides sluice.dev/list; may be repeated
    #[arg(long = "label", value_name = "KEY=VALUE", value_parser = parse_label)]
    pub labels: Vec<(String, String)>,
    /// Most entries of one set
    #[arg(long, value_name = "NUMBER", default_value_t = 40_000, value_parser = max_entries())]
    pub max_entries: u32,
    /// What to let pass.
    #[command(flatten)]
    pub options: FeedOptions,
    /// How to print what was done
    #[arg(short, long, value_enum, default_value_t = ExplainFormat::Text)]
    pub output: ExplainFormat,
}

/// Words of `cidrset list`.
#[derive(Args, Debug)]
pub struct ListArguments {
    /// The policy directory
    #[arg(long, value_name = "DIR")]
    pub directory: PathBuf,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = ExplainFormat::Text)]
    pub output: ExplainFormat,
}

/// What to let pass in a feed.
#[derive(Args, Clone, Copy, Debug)]
pub struct FeedOptions {
    /// Take a list without entries for an empty list, not for a failure of whoever publishes it
    #[arg(long)]
    pub allow_empty: bool,
    /// Load prefixes wider than /8, or wider than /16 for IPv6
    #[arg(long)]
    pub allow_wide: bool,
    /// Read 192.0.2.1/24 as 192.0.2.0/24
    #[arg(long)]
    pub mask_host_bits: bool,
}

impl From<FeedOptions> for feed::Options {
    fn from(options: FeedOptions) -> Self {
        let FeedOptions { allow_empty, allow_wide, mask_host_bits } = options;
        Self { allow_empty, allow_wide, mask_host_bits }
    }
}

fn list_name(name: &str) -> Result<String, String> {
    check_list_name(name).map(|()| name.to_owned())
}

fn max_entries() -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::try_from(MAX_CIDRS).unwrap_or(i64::MAX))
}
