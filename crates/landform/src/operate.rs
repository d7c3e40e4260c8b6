//! `landform reconcile`, `retry`, `abort` and `interrupt`: what a person asks of objects that are reconciled.

use std::process::ExitCode;

use clap::Args;
use http::Method;
use kube::Client;
use landform_api::keys::ANNOTATION_ERROR;
use landform_api::landscaper::{self, Operation, keys};
use landform_api::writer::RIGHTS_MISSING;
use serde_json::{Value, json};

use crate::client::kind::Kinds;
use crate::client::object::{FileArgs, Place, places};
use crate::client::{ClientArgs, block_on, get, merge, plain, send};
use crate::{AnyError, exit, say};

const VIEW: &str = "/apis/landform.dev/v1alpha1/engine/reconcile";
/// Owners are followed so far.
const DEEPEST: usize = 32;

const RECONCILE_EXAMPLES: &str = "Examples:
  landform reconcile inst/db            compares it again with what it should be, and acts
  landform reconcile inst/db --force    whatever state the installations are in that it depends on
  landform reconcile apptype/shop       any other kind that Landform reconciles, too

`landform wait KIND/NAME` waits for the end.";

const RETRY_EXAMPLES: &str = "Examples:
  landform retry                all that has failed in the namespace
  landform retry di/db-abc12    the installation that this deploy item belongs to";

/// Arguments of `landform reconcile`.
#[derive(Args)]
#[command(after_help = RECONCILE_EXAMPLES)]
pub(crate) struct ReconcileArgs {
    /// KIND/NAME… or KIND NAME…
    #[arg(value_name = "KIND/NAME", required = true)]
    objects: Vec<String>,
    /// Even if what it depends on is not ready.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    server: ClientArgs,
}

/// Arguments of `landform retry`.
#[derive(Args)]
#[command(after_help = RETRY_EXAMPLES)]
pub(crate) struct RetryArgs {
    /// KIND/NAME… or KIND NAME… [default: all that has failed in the namespace].
    #[arg(value_name = "KIND/NAME")]
    objects: Vec<String>,
    /// In all namespaces.
    #[arg(short = 'A', long, conflicts_with = "objects")]
    all_namespaces: bool,
    #[command(flatten)]
    server: ClientArgs,
}

/// Arguments of `landform abort` and `landform interrupt`.
#[derive(Args)]
pub(crate) struct StopArgs {
    /// KIND/NAME… or KIND NAME…: installations, executions or deploy items.
    #[arg(value_name = "KIND/NAME", required = true)]
    objects: Vec<String>,
    #[command(flatten)]
    server: ClientArgs,
}

pub(crate) fn reconcile(args: ReconcileArgs) -> Result<ExitCode, AnyError> {
    block_on(async {
        let client = args.server.connect().await?;
        let operation = if args.force {
            Operation::ForceReconcile
        } else {
            Operation::Reconcile
        };
        for place in places(&client, &args.objects, &FileArgs::default()).await? {
            if has_operations(&place) {
                ask(&client, &place, operation).await?;
            } else {
                ask_engine(&client, &place, args.force).await?;
            }
            say(&format!(
                "{} was asked to {}\n",
                place.short(),
                operation.as_str()
            ))?;
        }
        Ok(exit::OK)
    })
}

pub(crate) fn abort(args: StopArgs) -> Result<ExitCode, AnyError> {
    stop(args, Operation::Abort, "aborted")
}

pub(crate) fn interrupt(args: StopArgs) -> Result<ExitCode, AnyError> {
    stop(args, Operation::Interrupt, "interrupted")
}

fn stop(args: StopArgs, operation: Operation, done: &str) -> Result<ExitCode, AnyError> {
    block_on(async {
        let client = args.server.connect().await?;
        for place in places(&client, &args.objects, &FileArgs::default()).await? {
            if !has_operations(&place) {
                let message = format!(
                    "{} can't be {done}: only installations, executions and deploy items can",
                    place.short()
                );
                return Err(message.into());
            }
            ask(&client, &place, operation).await?;
            let asked = operation.as_str();
            say(&format!("{} was asked to {asked}\n", place.short()))?;
        }
        Ok(exit::OK)
    })
}

pub(crate) fn retry(args: RetryArgs) -> Result<ExitCode, AnyError> {
    block_on(async {
        let client = args.server.connect().await?;
        if args.objects.is_empty() {
            return retry_all(&client, args.all_namespaces).await;
        }
        for place in places(&client, &args.objects, &FileArgs::default()).await? {
            let (root, object) = root_of(&client, place).await?;
            if !has_operations(&root) {
                ask_engine(&client, &root, false).await?;
                say(&format!("{} is tried again\n", root.short()))?;
                continue;
            }
            let phase = object["status"]["phase"].as_str().unwrap_or("none");
            if is_failed(&object) || is_held_up(&object) {
                ask(&client, &root, Operation::Reconcile).await?;
                say(&format!("{} is tried again\n", root.short()))?;
            } else {
                say(&format!(
                    "{} has not failed (its phase is {phase}): nothing to retry\n",
                    root.short()
                ))?;
            }
        }
        Ok(exit::OK)
    })
}

/// Tries everything again that has failed and belongs to nothing else.
async fn retry_all(client: &Client, everywhere: bool) -> Result<ExitCode, AnyError> {
    let kinds = Kinds::load(client).await?;
    let namespace = if everywhere {
        ""
    } else {
        client.default_namespace()
    };
    let mut count = 0;
    for word in ["installations", "executions", "deployitems"] {
        let kind = kinds.find(&format!("{word}.{}", landscaper::GROUP))?;
        let found = get(client, &kind.list_path(namespace)).await?;
        let found = found.unwrap_or_default();
        for object in found["items"].as_array().into_iter().flatten() {
            let is_owned = object["metadata"]["ownerReferences"]
                .as_array()
                .is_some_and(|owners| !owners.is_empty());
            if is_owned || !(is_failed(object) || is_held_up(object)) {
                continue;
            }
            let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
            let place = Place::new(kind.clone(), text("namespace"), text("name"));
            count += 1;
            if let Some(why) = ignored(&place, object) {
                say(&format!("{why}\n"))?;
                continue;
            }
            ask(client, &place, Operation::Reconcile).await?;
            say(&format!("{} is tried again\n", place.short()))?;
        }
    }
    if count == 0 {
        say("Nothing has failed.\n")?;
    }
    Ok(exit::OK)
}

fn is_failed(object: &Value) -> bool {
    matches!(
        object["status"]["phase"].as_str(),
        Some("Failed" | "Aborted")
    )
}

/// Why nothing that is asked of an object would be done: in a final phase one with the annotation is left alone (I1, E2).
fn ignored(place: &Place, object: &Value) -> Option<String> {
    let metadata = &object["metadata"];
    let phase = object["status"]["phase"].as_str();
    let is_final = match place.kind.kind.as_str() {
        "Installation" | "Execution" => matches!(phase, Some("Succeeded" | "Failed" | "Aborted")),
        _ => false,
    };
    let is_ignored = is_final && metadata["annotations"][keys::IGNORE] == keys::TRUE;
    is_ignored.then(|| {
        let namespace = metadata["namespace"].as_str().unwrap_or("default");
        format!(
            "{} has the annotation {ignore}: Landform leaves it alone; remove the annotation first: kubectl annotate {} {} -n {namespace} {ignore}-",
            place.short(),
            place.kind.singular,
            place.name,
            ignore = keys::IGNORE
        )
    })
}

/// Whether an object waits for something that Landform doesn't hear of, such as a right, or tells an error of its last run.
fn is_held_up(object: &Value) -> bool {
    let lacks_rights = object["status"].to_string().contains(RIGHTS_MISSING);
    lacks_rights || object["metadata"]["annotations"][ANNOTATION_ERROR].is_string()
}

/// Whether an object does what its annotation asks for.
fn has_operations(place: &Place) -> bool {
    place.kind.group == landscaper::GROUP
        && ["Installation", "Execution", "DeployItem"].contains(&place.kind.kind.as_str())
}

async fn ask(client: &Client, place: &Place, operation: Operation) -> Result<(), AnyError> {
    let patch = json!({"metadata": {"annotations": {keys::OPERATION: operation.as_str()}}});
    let Some(object) = get(client, &place.path()).await? else {
        return Err(place.missing().into());
    };
    if let Some(why) = ignored(place, &object) {
        return Err(why.into());
    }
    merge(client, &place.path(), &patch).await.map(drop)
}

/// Asks the engine for a run.
async fn ask_engine(client: &Client, place: &Place, force: bool) -> Result<(), AnyError> {
    if force {
        let message = format!("{} knows no force: leave --force out", place.kind.plural);
        return exit::misused(message);
    }
    if get(client, &place.path()).await?.is_none() {
        return Err(place.missing().into());
    }
    let path = format!("{VIEW}/{}", place.view_path());
    match send(client, Method::POST, &path, &json!({})).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 || status.code == 405 => Err(format!(
            "{} can't be asked: this server runs no engine",
            place.short()
        )
        .into()),
        Err(error) => Err(plain(error)),
    }
}

/// The topmost owner that can be asked, with its object.
async fn root_of(client: &Client, place: Place) -> Result<(Place, Value), AnyError> {
    let kinds = Kinds::load(client).await?;
    let Some(mut object) = get(client, &place.path()).await? else {
        return Err(place.missing().into());
    };
    let mut place = place;
    for _ in 0..DEEPEST {
        let owners = object["metadata"]["ownerReferences"].as_array();
        let owner = owners.into_iter().flatten().find_map(|owner| {
            let (version, kind) = (owner["apiVersion"].as_str()?, owner["kind"].as_str()?);
            let kind = kinds.of_manifest(version, kind)?;
            let owner = Place::new(kind, &place.namespace, owner["name"].as_str()?);
            has_operations(&owner).then_some(owner)
        });
        let Some(owner) = owner else {
            break;
        };
        let Some(found) = get(client, &owner.path()).await? else {
            break;
        };
        (place, object) = (owner, found);
    }
    Ok((place, object))
}
