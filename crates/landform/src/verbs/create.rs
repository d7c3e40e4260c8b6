//! `landform create`: objects that are not there yet.

use std::process::ExitCode;

use clap::Args;
use http::Method;

use super::DryRun;
use crate::client::kind::Kinds;
use crate::client::object::{FileArgs, read};
use crate::client::{ClientArgs, block_on, plain, send};
use crate::exit::{self, misused};
use crate::output::harmless::harmless;
use crate::output::{self, Format, OutputArgs};
use crate::{AnyError, say};

const EXAMPLES: &str = "Examples:
  landform create -f shop.yaml               fails when one of the objects is there already
  landform create -f job.yaml -o name        says what it was called: metadata.generateName is filled in
  generate | landform create -f -            from another program

`landform apply -f shop.yaml` also changes objects that are there.";

/// Arguments of `landform create`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CreateArgs {
    #[command(flatten)]
    files: FileArgs,
    /// Ask the server to do everything but keep it.
    #[arg(long, value_enum, value_name = "WHERE", num_args = 0..=1,
          default_missing_value = "server", require_equals = true, default_value_t = DryRun::None)]
    dry_run: DryRun,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    server: ClientArgs,
}

pub(crate) fn run(args: CreateArgs) -> Result<ExitCode, AnyError> {
    block_on(create(args))
}

async fn create(args: CreateArgs) -> Result<ExitCode, AnyError> {
    if args.files.files.is_empty() {
        return misused("say which files to create objects of: -f FILE, -f DIR or -f -");
    }
    let manifests = read(&args.files)?;
    let client = args.server.connect().await?;
    let mut kinds = Kinds::load(&client).await?;
    let (mut created, mut failed) = (Vec::new(), 0);
    let count = manifests.len();
    for manifest in manifests {
        let mut kind = kinds.of_manifest(&manifest.api_version(), &manifest.kind());
        if kind.is_none() {
            // An object before may have brought it.
            kinds = Kinds::load(&client).await?;
            kind = kinds.of_manifest(&manifest.api_version(), &manifest.kind());
        }
        let Some(kind) = kind else {
            failed += 1;
            eprintln!("error: {}", harmless(&manifest.unknown_kind()));
            continue;
        };
        let place = manifest.place(kind, client.default_namespace());
        let path = format!(
            "{}{}",
            place.kind.list_path(&place.namespace),
            args.dry_run.query()
        );
        match send(&client, Method::POST, &path, &manifest.value).await {
            Ok(object) => {
                let name = object["metadata"]["name"].as_str().unwrap_or_default();
                let line = format!("{}/{name}", place.kind.word());
                match args.output.form() {
                    None | Some(Format::Wide) => {
                        say(&format!("{line} created{}\n", args.dry_run.word()))?;
                    }
                    Some(Format::Name) => say(&format!("{line}\n"))?,
                    Some(Format::Json | Format::Yaml | Format::Made(_)) => created.push(object),
                }
            }
            Err(error) => {
                failed += 1;
                let hint = match &error {
                    kube::Error::Api(status) if status.reason == "AlreadyExists" => {
                        "; `landform apply` changes it, `landform diff` shows how"
                    }
                    _ => "",
                };
                let text = format!("{}: {}: {}{hint}", manifest.at, place.short(), plain(error));
                eprintln!("error: {}", harmless(&text));
            }
        }
    }
    if let Some(form) = args.output.form().filter(|form| form.wants_objects()) {
        let single = created.len() == 1;
        if !created.is_empty() {
            say(&output::objects(created, single, form)?)?;
        }
    }
    if failed > 0 {
        eprintln!("error: {failed} of {count} objects were not created; what was created stays");
        return Ok(exit::FAILED);
    }
    Ok(exit::OK)
}
