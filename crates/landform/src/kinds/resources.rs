//! `landform api-resources`: the kinds that a server has.

use std::process::ExitCode;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::client::kind::{Kinds, Listed};
use crate::client::{ClientArgs, block_on};
use crate::output::color::Paint;
use crate::output::table::Table;
use crate::output::{self, Format, OutputArgs};
use crate::{AnyError, exit, say};

const EXAMPLES: &str = "Examples:
  landform api-resources                                all kinds, with their short names
  landform api-resources --api-group=landscaper.gardener.cloud
  landform api-resources --namespaced=false -o wide     with what can be done with them
  landform api-resources -o name --verbs=list,delete

`landform explain KIND` says what a kind's fields mean.";

/// What kinds are sorted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SortBy {
    /// By group and name.
    Name,
    /// By kind.
    Kind,
}

/// Arguments of `landform api-resources`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ResourcesArgs {
    /// Only kinds of this group; empty for the core group.
    #[arg(long, value_name = "GROUP")]
    api_group: Option<String>,
    /// Only kinds whose objects are in namespaces, or only others.
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    namespaced: Option<bool>,
    /// Only kinds with all these verbs.
    #[arg(long, value_name = "VERB,…", value_delimiter = ',')]
    verbs: Vec<String>,
    /// Only kinds in all these categories.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    categories: Vec<String>,
    /// The order [default: as the server has them].
    #[arg(long, value_enum, value_name = "WHAT")]
    sort_by: Option<SortBy>,
    /// Without titles.
    #[arg(long)]
    no_headers: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    server: ClientArgs,
}

pub(crate) fn run(args: ResourcesArgs) -> Result<ExitCode, AnyError> {
    block_on(async {
        let client = args.server.connect().await?;
        let mut all = Kinds::everything(&client).await?;
        all.retain(|listed| fits(listed, &args));
        match args.sort_by {
            Some(SortBy::Name) => all.sort_by_key(name),
            Some(SortBy::Kind) => all.sort_by_key(|listed| listed.kind.kind.clone()),
            None => {
                all.sort_by_key(|listed| (listed.kind.group.clone(), listed.kind.plural.clone()));
            }
        }
        match args.output.form() {
            Some(Format::Name) => {
                let names = all.iter().map(|listed| format!("{}\n", name(listed)));
                say(&names.collect::<String>())?;
            }
            form @ (None | Some(Format::Wide)) => {
                let paint = Paint::new(args.output.color.color);
                let table = table(&all, form.is_some());
                say(&if args.no_headers {
                    table.lines(&table.widths(), paint)
                } else {
                    table.text(paint)
                })?;
            }
            Some(form @ (Format::Json | Format::Yaml | Format::Made(_))) => {
                let all = all.iter().map(resource).collect::<Vec<_>>();
                let list = json!({"apiVersion": "v1", "kind": "List", "items": all});
                say(&output::one(&list, form)?)?;
            }
        }
        Ok(exit::OK)
    })
}

fn fits(listed: &Listed, args: &ResourcesArgs) -> bool {
    let has = |all: &[String], wanted: &[String]| wanted.iter().all(|one| all.contains(one));
    let kind = &listed.kind;
    args.api_group
        .as_ref()
        .is_none_or(|group| *group == kind.group)
        && args
            .namespaced
            .is_none_or(|wanted| wanted == kind.namespaced)
        && has(&listed.verbs, &args.verbs)
        && has(&listed.categories, &args.categories)
}

/// `configmaps`, `deployments.apps`.
fn name(listed: &Listed) -> String {
    let kind = &listed.kind;
    if kind.group.is_empty() {
        kind.plural.clone()
    } else {
        format!("{}.{}", kind.plural, kind.group)
    }
}

fn table(all: &[Listed], wide: bool) -> Table {
    let mut titles = vec!["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"];
    if wide {
        titles.extend(["VERBS", "CATEGORIES"]);
    }
    let mut table = Table::new(&titles);
    for Listed {
        kind,
        verbs,
        categories,
    } in all
    {
        let mut row = vec![
            kind.plural.clone(),
            kind.short_names.join(","),
            kind.api_version(),
            kind.namespaced.to_string(),
            kind.kind.clone(),
        ];
        if wide {
            row.extend([verbs.join(","), categories.join(",")]);
        }
        table.push(row);
    }
    table
}

fn resource(listed: &Listed) -> Value {
    let kind = &listed.kind;
    json!({
        "name": kind.plural, "singularName": kind.singular, "shortNames": kind.short_names,
        "group": kind.group, "version": kind.version, "kind": kind.kind, "namespaced": kind.namespaced,
        "verbs": listed.verbs, "categories": listed.categories,
    })
}
