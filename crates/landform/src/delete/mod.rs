//! `landform delete`: shows what will go, asks, deletes, and shows how it goes (G14).
//!
//! Reading order: `show.rs` writes the preview (for an app type with
//! `definitions.rs`), and this file asks, deletes and waits. All of it goes through the API, with a kubeconfig like any client's.

mod definitions;
mod show;

use std::io::{BufRead as _, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use http::Request;
use kube::Client;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::AnyError;
use crate::client::kind::{self, Kind};
use crate::client::{ClientArgs, block_on, get, plain};

/// How often the progress is shown anew.
const REFRESH: Duration = Duration::from_millis(200);
const VIEW: &str = "/apis/landform.dev/v1alpha1/deletion";

/// Arguments of `landform delete`.
#[derive(Args)]
pub(crate) struct DeleteArgs {
    /// The kind: singular, plural, short or KIND.GROUP, as kubectl takes it.
    kind: String,
    /// The object's name.
    name: String,
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
    let kind = kind::find(&client, &args.kind).await?;
    let namespace = if kind.namespaced {
        client.default_namespace().to_owned()
    } else {
        String::new()
    };
    let place = Place {
        path: kind.path(&namespace, &args.name),
        view: kind.view_path(&namespace, &args.name),
    };
    let query = format!(
        "{VIEW}/preview/{}?policy={}",
        place.view,
        args.policy.name()
    );
    let Some(preview) = get(&client, &query).await? else {
        let title = title(&kind, &namespace, &args.name);
        return Err(format!("there is no {title}, or the collector has not seen it yet").into());
    };
    print!("{}", show::preview(&preview));
    if kind.kind == "AppType" {
        let told = definitions::told(&client, &place.path, &namespace, &args.name);
        print!("{}", told.await?);
    }
    if args.dry_run {
        println!("Nothing was deleted: this was a dry run.");
        return Ok(ExitCode::SUCCESS);
    }
    if !args.yes && !confirmed()? {
        println!("Nothing was deleted.");
        return Ok(ExitCode::FAILURE);
    }
    let uid = preview["object"]["uid"].as_str().unwrap_or_default();
    let options = json!({
        "kind": "DeleteOptions", "apiVersion": "v1",
        "propagationPolicy": args.policy.name(), "preconditions": {"uid": uid},
    });
    let request = Request::delete(&place.path).header("content-type", "application/json");
    let request = request.body(options.to_string().into_bytes())?;
    client.request::<Value>(request).await.map_err(plain)?;
    if !args.wait {
        println!("It is marked; `landform delete` shows more with --wait.");
        return Ok(ExitCode::SUCCESS);
    }
    wait(&client, &place, uid, Duration::from_secs(args.timeout)).await
}

/// Where an object is.
struct Place {
    path: String,
    view: String,
}

fn title(kind: &Kind, namespace: &str, name: &str) -> String {
    if namespace.is_empty() {
        format!("{} {name}", kind.kind)
    } else {
        format!("{} {name} in namespace {namespace}", kind.kind)
    }
}

/// Asks; without anybody to ask, that is an error.
fn confirmed() -> Result<bool, AnyError> {
    if !std::io::stdin().is_terminal() {
        return Err("nobody can be asked here: say --yes to delete, or --dry-run to look".into());
    }
    print!("Delete this? [y/N] ");
    std::io::stdout().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Shows what the deletion waits for until it ends.
async fn wait(
    client: &Client,
    place: &Place,
    uid: &str,
    timeout: Duration,
) -> Result<ExitCode, AnyError> {
    let until = Instant::now() + timeout;
    let mut said = String::new();
    loop {
        let found = get(client, &place.path).await?;
        if found.is_none_or(|object| object["metadata"]["uid"] != uid) {
            println!("It is gone.");
            return Ok(ExitCode::SUCCESS);
        }
        let view = get(client, &format!("{VIEW}/{}", place.view)).await?;
        let message = view
            .as_ref()
            .and_then(|view| view["message"].as_str())
            .unwrap_or_default();
        if message != said {
            println!("… {message}");
            message.clone_into(&mut said);
        }
        if Instant::now() >= until {
            let seconds = timeout.as_secs();
            return Err(format!("it is still there after {seconds} s: {said}").into());
        }
        tokio::time::sleep(REFRESH).await;
    }
}
