//! `landform delete`: shows what will go, asks, deletes, and shows how it goes (G14).
//!
//! Reading order: `show.rs` writes the preview (for an app type with
//! `definitions.rs`), and this file asks, deletes and waits. All of it goes through the API, with a kubeconfig like any client's.

mod definitions;
mod show;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use kube::Client;
use serde_json::json;
use tokio::time::Instant;

use crate::client::object::{FileArgs, Place, places};
use crate::client::{ClientArgs, block_on, get, plain, send};
use crate::confirm::confirmed;
use crate::output::harmless::one_line;
use crate::output::live::Live;
use crate::{AnyError, exit, say};

/// How often the progress is shown anew.
const REFRESH: Duration = Duration::from_millis(200);
const VIEW: &str = "/apis/landform.dev/v1alpha1/deletion";

const EXAMPLES: &str = "Examples:
  landform delete inst/shop               shows what goes with it, asks, and waits for the end
  landform delete cm a b --yes            several, without a question
  landform delete -f shop/ --dry-run      only what would go";

/// Arguments of `landform delete`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DeleteArgs {
    /// KIND/NAME… or KIND NAME…; a kind is a singular, plural, short name or KIND.GROUP.
    #[arg(value_name = "KIND/NAME")]
    objects: Vec<String>,
    #[command(flatten)]
    files: FileArgs,
    /// What happens to the objects that depend on it.
    #[arg(long, value_enum, default_value_t = Policy::Cascade)]
    policy: Policy,
    /// Don't ask.
    #[arg(short, long)]
    yes: bool,
    /// Whether to wait until it is gone.
    #[arg(long, default_value_t = true, action = clap::ArgAction::Set,
          num_args = 0..=1, default_missing_value = "true", require_equals = true)]
    wait: bool,
    /// Waiting ends after so many seconds; the deletion goes on.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
    /// Only show what would go.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    server: ClientArgs,
}

/// What happens to dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Policy {
    /// Every dependent goes first, also those that others own as well.
    Cascade,
    /// The object goes at once; dependents without another living owner follow.
    Background,
    /// Dependents without another living owner go first.
    Foreground,
    /// Dependents stay, without their reference.
    Orphan,
}

impl Policy {
    /// The nearest that a server knows that isn't Landform's.
    fn elsewhere(self) -> Self {
        match self {
            Self::Cascade => Self::Foreground,
            other => other,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Cascade => "Cascade",
            Self::Background => "Background",
            Self::Foreground => "Foreground",
            Self::Orphan => "Orphan",
        }
    }
}

pub(crate) fn run(args: DeleteArgs) -> Result<ExitCode, AnyError> {
    block_on(delete(args))
}

async fn delete(args: DeleteArgs) -> Result<ExitCode, AnyError> {
    let client = args.server.connect().await?;
    let places = places(&client, &args.objects, &args.files).await?;
    let mut doomed = Vec::new();
    for place in places {
        match look(&client, &place, args.policy).await? {
            Some((uid, text)) => {
                say(&text)?;
                doomed.push((place, uid));
            }
            // What files name may be gone already.
            None if !args.files.files.is_empty() => {
                say(&format!("{} is not there\n", place.short()))?;
            }
            None => return Err(place.missing().into()),
        }
    }
    if doomed.is_empty() {
        say("Nothing is left to delete.\n")?;
        return Ok(exit::OK);
    }
    if args.dry_run {
        say("Nothing was deleted: this was a dry run.\n")?;
        return Ok(exit::OK);
    }
    if !args.yes && !agreed(doomed.len())? {
        say("Nothing was deleted.\n")?;
        return Ok(exit::FAILED);
    }
    let policy = if has_view(&client).await? {
        args.policy
    } else {
        args.policy.elsewhere()
    };
    for (place, uid) in &doomed {
        mark(&client, place, uid, policy).await?;
    }
    if !args.wait {
        say("It is marked; `landform delete` shows more with --wait.\n")?;
        return Ok(exit::OK);
    }
    let until = Instant::now() + Duration::from_secs(args.timeout);
    for (place, uid) in &doomed {
        wait(&client, place, uid, until, args.timeout).await?;
        if doomed.len() > 1 {
            say(&format!("{} is gone.\n", place.short()))?;
        }
    }
    if doomed.len() == 1 {
        say("It is gone.\n")?;
    }
    Ok(exit::OK)
}

/// The uid of an object and what goes with it, as text; `None` when it isn't there.
async fn look(
    client: &Client,
    place: &Place,
    policy: Policy,
) -> Result<Option<(String, String)>, AnyError> {
    let path = format!(
        "{VIEW}/preview/{}?policy={}",
        place.view_path(),
        policy.name()
    );
    if let Some(preview) = get(client, &path).await? {
        let mut text = show::preview(&preview);
        if place.kind.kind == "AppType" {
            let path = place.path();
            let told = definitions::told(client, &path, &place.namespace, &place.name);
            text.push_str(&told.await?);
        }
        let uid = preview["object"]["uid"].as_str().unwrap_or_default();
        return Ok(Some((uid.to_owned(), text)));
    }
    let Some(object) = get(client, &place.path()).await? else {
        return Ok(None);
    };
    if has_view(client).await? {
        let message = format!(
            "the collector has not seen {} yet: try again",
            place.title()
        );
        return Err(message.into());
    }
    let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
    let text = format!(
        "{}, and what it owns: this server can't show what that is\n",
        place.title()
    );
    Ok(Some((uid.to_owned(), text)))
}

/// Whether the server is one of ours, which shows what a deletion does.
async fn has_view(client: &Client) -> Result<bool, AnyError> {
    Ok(get(client, VIEW).await?.is_some())
}

/// Sends the deletion of the object that was looked at, and of no other one of its name.
async fn mark(client: &Client, place: &Place, uid: &str, policy: Policy) -> Result<(), AnyError> {
    let options = json!({
        "kind": "DeleteOptions", "apiVersion": "v1",
        "propagationPolicy": policy.name(), "preconditions": {"uid": uid},
    });
    match send(client, http::Method::DELETE, &place.path(), &options).await {
        Ok(_) => Ok(()),
        // Another one of these took it along.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(plain(error)),
    }
}

/// Asks a person.
fn agreed(count: usize) -> Result<bool, AnyError> {
    confirmed(&match count {
        1 => "Delete this?".to_owned(),
        count => format!("Delete these {count} and what goes with them?"),
    })
}

/// Shows what the deletion waits for until it ends.
async fn wait(
    client: &Client,
    place: &Place,
    uid: &str,
    until: Instant,
    seconds: u64,
) -> Result<(), AnyError> {
    let mut said = String::new();
    let mut live = Live::new();
    loop {
        let found = get(client, &place.path()).await?;
        let Some(object) = found.filter(|object| object["metadata"]["uid"] == uid) else {
            return Ok(());
        };
        let error = object["status"]["lastError"]["message"].as_str();
        let view = get(client, &format!("{VIEW}/{}", place.view_path())).await?;
        let message = view
            .as_ref()
            .and_then(|view| view["message"].as_str())
            .unwrap_or_default();
        if message != said {
            live.clear();
            say(&format!("… {}\n", one_line(message)))?;
            message.clone_into(&mut said);
        }
        live.show(&format!("{} goes", place.short()));
        if Instant::now() >= until {
            let short = place.short();
            let error = error.map_or(String::new(), |error| format!("; its last error: {error}"));
            return Err(format!("{short} is still there after {seconds} s: {said}{error}").into());
        }
        tokio::time::sleep(REFRESH).await;
    }
}
