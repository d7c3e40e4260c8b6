//! `landform apply` and `landform diff`: objects as files want them, and what that would change.
//!
//! `object.rs` brings one object to where its manifest wants it; `diff.rs` shows that without doing it.

pub(crate) mod diff;
mod object;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use kube::Client;

pub(crate) use object::{Applied, LAST_APPLIED, apply_object};

use crate::client::kind::{Kind, Kinds};
use crate::client::object::{FileArgs, Manifest, read};
use crate::client::{ClientArgs, block_on};
use crate::exit::{self, misused};
use crate::output::color::{Paint, Tone};
use crate::output::harmless::harmless;
use crate::output::live::Live;
use crate::output::{self, Format, OutputArgs};
use crate::{AnyError, say_open};

/// So long a kind may take to appear after its definition was applied.
const PATIENCE: Duration = Duration::from_secs(10);

const EXAMPLES: &str = "Examples:
  landform apply -f shop.yaml                one file, with any number of objects
  landform apply -f shop/ -R                 a directory and those below
  landform apply -f shop.yaml --dry-run=server   what the server would say to it
  generate | landform apply -f -             from another program";

/// Arguments of `landform apply`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ApplyArgs {
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

/// Whether something is only tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DryRun {
    /// It is done.
    None,
    /// The server checks it and keeps nothing.
    Server,
}

pub(crate) fn run(args: ApplyArgs) -> Result<ExitCode, AnyError> {
    block_on(apply(args))
}

async fn apply(args: ApplyArgs) -> Result<ExitCode, AnyError> {
    if args.files.files.is_empty() {
        return misused("say which files to apply: -f FILE, -f DIR or -f -");
    }
    let manifests = in_order(read(&args.files)?);
    let client = args.server.connect().await?;
    let mut kinds = Kinds::load(&client).await?;
    let paint = Paint::new(args.output.color.color);
    let dry = args.dry_run == DryRun::Server;
    let mut live = Live::new();
    let mut failed = 0;
    let mut objects = Vec::new();
    let mut defined = false;
    let count = manifests.len();
    for (at, manifest) in manifests.iter().enumerate() {
        live.show(&format!("{}/{count} {}", at + 1, manifest.at));
        defined |= manifest.kind() == "CustomResourceDefinition";
        let kind = kind_of(&client, &mut kinds, manifest, defined && !dry).await;
        let done = match kind {
            Ok(kind) => apply_object(&client, kind, manifest, dry).await,
            Err(error) => Err(error),
        };
        live.clear();
        match done {
            Ok(applied) => {
                let line = line(&applied, dry, paint, args.output.form());
                objects.push(applied.object);
                if !say_open(&line)? {
                    return Ok(exit::OK);
                }
            }
            Err(error) => {
                failed += 1;
                eprintln!("error: {}", harmless(&error.to_string()));
            }
        }
    }
    if let Some(format) = args.output.form().filter(|form| form.wants_objects()) {
        let single = objects.len() == 1;
        crate::say(&output::objects(objects, single, format)?)?;
    }
    if failed > 0 {
        let message = format!(
            "{failed} of {count} objects were not applied; correct them and apply again: what was applied stays"
        );
        return Err(message.into());
    }
    Ok(exit::OK)
}

fn line(applied: &Applied, dry: bool, paint: Paint, format: Option<Format>) -> String {
    let name = applied.object["metadata"]["name"]
        .as_str()
        .unwrap_or_default();
    let place = format!("{}/{name}", applied.kind.word());
    match format {
        Some(Format::Json | Format::Yaml | Format::Made(_)) => String::new(),
        Some(Format::Name) => format!("{place}\n"),
        None | Some(Format::Wide) => {
            let tone = match applied.outcome {
                object::Outcome::Created => Tone::Good,
                object::Outcome::Configured => Tone::Busy,
                object::Outcome::Unchanged => Tone::Dim,
            };
            let word = paint.tone(tone, applied.outcome.word());
            let dry = if dry { " (server dry run)" } else { "" };
            format!("{place} {word}{dry}\n")
        }
    }
}

/// Namespaces and definitions first: others need them.
fn in_order(mut manifests: Vec<Manifest>) -> Vec<Manifest> {
    manifests.sort_by_key(|manifest| match manifest.kind().as_str() {
        "Namespace" => 0,
        "CustomResourceDefinition" => 1,
        _ => 2,
    });
    manifests
}

/// The kind of a manifest; one that was just defined may take a moment to be served.
async fn kind_of(
    client: &Client,
    kinds: &mut Kinds,
    manifest: &Manifest,
    patient: bool,
) -> Result<Kind, AnyError> {
    let until = tokio::time::Instant::now() + PATIENCE;
    loop {
        if let Some(kind) = kinds.of_manifest(&manifest.api_version(), &manifest.kind()) {
            return Ok(kind);
        }
        if !patient || tokio::time::Instant::now() >= until {
            return Err(manifest.unknown_kind().into());
        }
        *kinds = Kinds::load(client).await?;
        if kinds
            .of_manifest(&manifest.api_version(), &manifest.kind())
            .is_none()
        {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}
