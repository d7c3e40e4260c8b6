//! `landform patch`: a part of an object, changed by a patch.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use http::Request;
use kube::Client;
use landform_yaml::Budget;
use serde_json::Value;

use super::DryRun;
use super::selected::SelectArgs;
use crate::client::object::Place;
use crate::client::{ClientArgs, block_on, plain};
use crate::exit::{self, misused};
use crate::output::harmless::harmless;
use crate::output::{self, Format, OutputArgs};
use crate::{AnyError, say};

const EXAMPLES: &str = "Examples:
  landform patch inst/db -p '{\"metadata\": {\"labels\": {\"team\": \"shop\"}}}'
  landform patch cm/settings -p 'data: {colour: green, old: null}'       a patch may be YAML; null removes
  landform patch deploy/web --type=json -p '[{\"op\": \"replace\", \"path\": \"/spec/replicas\", \"value\": 3}]'
  landform patch inst/db --patch-file=change.yaml

A strategic patch knows that containers are told apart by their names; kinds of custom resources, Landform's own
among them, have none, and take a merge patch.";

/// How a patch is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Type {
    /// Lists are merged by what tells their entries apart.
    Strategic,
    /// Fields are set, null removes one, lists are replaced (RFC 7396).
    Merge,
    /// A list of operations (RFC 6902).
    Json,
}

impl Type {
    fn media(self) -> &'static str {
        match self {
            Self::Strategic => "application/strategic-merge-patch+json",
            Self::Merge => "application/merge-patch+json",
            Self::Json => "application/json-patch+json",
        }
    }
}

/// Arguments of `landform patch`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct PatchArgs {
    /// KIND/NAME… or KIND NAME…
    #[arg(value_name = "KIND/NAME")]
    objects: Vec<String>,
    /// The patch, as JSON or YAML.
    #[arg(short, long, value_name = "PATCH", conflicts_with = "patch_file")]
    patch: Option<String>,
    /// A file with the patch.
    #[arg(long, value_name = "FILE")]
    patch_file: Option<PathBuf>,
    /// How the patch is meant [default: strategic where the kind has it, else merge].
    #[arg(long = "type", value_enum, value_name = "TYPE")]
    type_: Option<Type>,
    /// A part that is written by itself, for instance status or scale.
    #[arg(long, value_name = "NAME")]
    subresource: Option<String>,
    #[command(flatten)]
    select: SelectArgs,
    /// Ask the server to do everything but keep it.
    #[arg(long, value_enum, value_name = "WHERE", num_args = 0..=1,
          default_missing_value = "server", require_equals = true, default_value_t = DryRun::None)]
    dry_run: DryRun,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    server: ClientArgs,
}

pub(crate) fn run(args: PatchArgs) -> Result<ExitCode, AnyError> {
    block_on(patch(args))
}

async fn patch(args: PatchArgs) -> Result<ExitCode, AnyError> {
    let change = change(&args)?;
    let client = args.server.connect().await?;
    let found = args.select.find(&client, &args.objects).await?;
    let (mut patched, mut failed) = (Vec::new(), false);
    for selected in found {
        let done = match selected {
            Ok(selected) => {
                let after = send(&client, &selected.place, &args, &change).await;
                after.map(|after| (selected, after))
            }
            Err(error) => Err(error),
        };
        match done {
            Ok((selected, after)) => {
                let place = &selected.place;
                let line = format!("{}/{}", place.kind.word(), place.name);
                let version = |object: &Value| object["metadata"]["resourceVersion"].clone();
                let same = if args.dry_run == DryRun::None {
                    version(&after) == version(&selected.object)
                } else {
                    after == selected.object
                };
                let same = if same { " (no change)" } else { "" };
                match args.output.form() {
                    None | Some(Format::Wide) => {
                        say(&format!("{line} patched{}{same}\n", args.dry_run.word()))?;
                    }
                    Some(Format::Name) => say(&format!("{line}\n"))?,
                    Some(Format::Json | Format::Yaml | Format::Made(_)) => patched.push(after),
                }
            }
            Err(error) => {
                failed = true;
                eprintln!("error: {}", harmless(&error.to_string()));
            }
        }
    }
    if let Some(form) = args.output.form().filter(|form| form.wants_objects())
        && !patched.is_empty()
    {
        let single = patched.len() == 1;
        say(&output::objects(patched, single, form)?)?;
    }
    Ok(if failed { exit::FAILED } else { exit::OK })
}

/// The patch that was given.
fn change(args: &PatchArgs) -> Result<Value, AnyError> {
    let text = match (&args.patch, &args.patch_file) {
        (Some(text), _) => text.clone(),
        (None, Some(file)) => std::fs::read_to_string(file)
            .map_err(|error| format!("{} can't be read: {error}", file.display()))?,
        (None, None) => return misused("say what to change: -p PATCH or --patch-file FILE"),
    };
    let change = landform_yaml::parse_one(&text, &Budget::FILE)
        .map_err(|error| format!("the patch can't be read: {error}"))?;
    match (args.type_, &change) {
        (Some(Type::Json), Value::Array(_)) => Ok(change),
        (Some(Type::Json), _) => misused(
            "a JSON patch is a list of operations: [{\"op\": \"add\", \"path\": \"/data/k\", \"value\": \"v\"}]",
        ),
        (_, Value::Object(_)) => Ok(change),
        (_, Value::Array(_)) => misused("a list is a JSON patch: say --type=json"),
        _ => misused("a patch is a map of the fields to change: {\"data\": {\"k\": \"v\"}}"),
    }
}

/// Sends a patch; in the best form that the kind has, when none was asked for.
async fn send(
    client: &Client,
    place: &Place,
    args: &PatchArgs,
    change: &Value,
) -> Result<Value, AnyError> {
    let below = args.subresource.as_ref();
    let below = below.map_or(String::new(), |name| format!("/{name}"));
    let path = format!("{}{below}{}", place.path(), args.dry_run.query());
    let types = match args.type_ {
        Some(only) => vec![only],
        None => vec![Type::Strategic, Type::Merge],
    };
    let mut refusal: AnyError = "the server takes no patch".into();
    for type_ in types {
        let request = Request::patch(&path).header("content-type", type_.media());
        let request = request.body(change.to_string().into_bytes())?;
        match client.request::<Value>(request).await {
            Ok(after) => return Ok(after),
            Err(kube::Error::Api(status)) if status.code == 415 => {
                refusal = if type_ == Type::Strategic {
                    format!("{} has no strategic patch: say --type=merge", place.short()).into()
                } else {
                    plain(kube::Error::Api(status))
                };
            }
            Err(error) => return Err(format!("{}: {}", place.short(), plain(error)).into()),
        }
    }
    Err(refusal)
}
