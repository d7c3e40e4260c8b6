//! `landform down`: takes everything of a project down in the right order, after showing what that is.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use http::Request;
use kube::Client;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use landform_api::words::counted;
use landform_api::{project, protection};
use landform_explain::why::Root;
use landform_project::{Leaving, leaving};
use serde_json::{Value, json};

use super::follow::{self, Follower, News};
use super::home::Home;
use super::state::span;
use super::{REDRAW, Shown, causes, path_of, start};
use crate::client::{get, plain};
use crate::confirm::confirmed;
use crate::serve::Running;
use crate::store_key::KeyArgs;
use crate::{AnyError, logging};

/// A server that doesn't answer within this time isn't there.
const ANSWERS_WITHIN: Duration = Duration::from_secs(2);
/// When nothing was seen to happen for this time, the causes are looked for.
const SILENT: Duration = Duration::from_secs(5);
/// The causes of this many objects are looked for while the deletion goes on.
const LOOKED_AT: usize = 100;
/// So many names of a kind are shown.
const NAMED: usize = 8;

/// Arguments of `landform down`.
#[derive(Args)]
pub(crate) struct DownArgs {
    /// The project's directory.
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Don't ask.
    #[arg(short, long)]
    yes: bool,
    /// Only show what would go.
    #[arg(long)]
    dry_run: bool,
    /// Waiting ends after this time, for instance 5m, and sooner when nothing goes on before you act; the deletion goes on with the
    /// next `landform up` or `down`.
    #[arg(long, value_name = "TIME", default_value = "10m")]
    timeout: String,
    /// Where everything is kept [default: .landform in the project's directory].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    #[command(flatten)]
    key: KeyArgs,
}

pub(crate) fn run(args: DownArgs) -> Result<ExitCode, AnyError> {
    let timeout = landform_api::duration::parse(&args.timeout).ok_or_else(|| {
        format!(
            "--timeout {:?} is no length of time: say for instance 90s or 5m",
            args.timeout
        )
    })?;
    let home = Home::of(&args.directory, args.data_dir.clone(), args.key.clone())?;
    if !home.kubeconfig().exists() {
        println!("{} is not up: there is nothing to take down.", home.shown());
        return Ok(ExitCode::SUCCESS);
    }
    logging::start_in_file(&home.make()?)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(down(&args, &home, timeout));
    runtime.shutdown_timeout(Duration::from_millis(200));
    result
}

async fn down(args: &DownArgs, home: &Home, timeout: Duration) -> Result<ExitCode, AnyError> {
    // Of the server that is up, or of one that is started for this.
    let (client, own) = match running_server(home).await {
        Some(client) => (client, None),
        None => {
            let running = start(home, None, None).await?;
            (running.client(), Some(running))
        }
    };
    let result = take_down(&client, args, home, timeout).await;
    let server = match &own {
        Some(_) => Server::EndsWithThis,
        None => Server::StaysUp,
    };
    if let Some(running) = own {
        Running::stop(running).await;
    }
    match result? {
        Taken::Down => Ok(ExitCode::SUCCESS),
        Taken::Nothing(code) => Ok(code),
        Taken::Partly(time) => {
            let left =
                format!("not everything is gone after {time}; what is left waits for the above");
            Err(with_way_on(server, left, &home.shown()).into())
        }
        Taken::Held => {
            let left = "not everything is gone, and what is left doesn't go on before you do what is advised above".to_owned();
            Err(with_way_on(server, left, &home.shown()).into())
        }
    }
}

/// How far it came.
enum Taken {
    Down,
    /// Nothing was deleted.
    Nothing(ExitCode),
    /// Something is left after this time.
    Partly(String),
    /// What is left waits for a person.
    Held,
}

/// Whether the server is there after this command.
#[derive(Clone, Copy)]
enum Server {
    StaysUp,
    EndsWithThis,
}

/// What is said when something is left, below the causes. Their advice needs a server.
fn with_way_on(server: Server, left: String, directory: &str) -> String {
    match server {
        Server::StaysUp => left,
        Server::EndsWithThis => format!(
            "{left}. The server ends with this command: to do what is advised above, start it with `landform up {directory}`, which goes on with the deletion, and use another terminal"
        ),
    }
}

async fn running_server(home: &Home) -> Option<Client> {
    let kubeconfig = Kubeconfig::read_from(home.kubeconfig()).ok()?;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .ok()?;
    let client = Client::try_from(config).ok()?;
    let answer = tokio::time::timeout(ANSWERS_WITHIN, get(&client, "/version")).await;
    matches!(answer, Ok(Ok(Some(_)))).then_some(client)
}

async fn take_down(
    client: &Client,
    args: &DownArgs,
    home: &Home,
    timeout: Duration,
) -> Result<Taken, AnyError> {
    let name = home.project_name(client).await?;
    let path = path_of(&name);
    let Some(found) = get(client, &path).await? else {
        println!("There is no project {name} here: nothing to take down.");
        return Ok(Taken::Nothing(ExitCode::SUCCESS));
    };
    let leaving = leaving(client, &name).await?;
    print!("{}", preview(&leaving, &name));
    let own = protection::is_protected(&found["metadata"]);
    let own = own.then(|| format!("the project {name} itself"));
    let protected: Vec<_> = own.into_iter().chain(leaving.protected).collect();
    if !protected.is_empty() {
        return Err(protection_in_the_way(&protected).into());
    }
    if args.dry_run {
        println!("Nothing was deleted: this was a dry run.");
        return Ok(Taken::Nothing(ExitCode::SUCCESS));
    }
    if !args.yes && !confirmed("Take all of this down?")? {
        println!("Nothing was deleted.");
        return Ok(Taken::Nothing(ExitCode::FAILURE));
    }
    let uid = found["metadata"]["uid"].as_str().unwrap_or_default();
    let options = json!({
        "kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background",
        "preconditions": {"uid": uid},
    });
    let request = Request::delete(&path).header("content-type", "application/json");
    let request = request.body(options.to_string().into_bytes())?;
    client.request::<Value>(request).await.map_err(plain)?;
    let mut shown = Shown::new(home, &name, Instant::now());
    shown.is_read = true;
    let gone = until_gone(&mut shown, client, uid);
    match tokio::time::timeout(timeout, gone).await {
        Ok(result) => {
            if result? == End::Held {
                return Ok(Taken::Held);
            }
        }
        Err(_) => {
            shown.screen.keep();
            let late: Vec<_> = shown.late();
            for line in causes::lines(client, &late).await? {
                shown.screen.say(&line);
            }
            return Ok(Taken::Partly(span(timeout)));
        }
    }
    let text = format!(
        "Everything of {name} is gone after {}.",
        span(shown.begun.elapsed())
    );
    shown.screen.say(&text);
    Ok(Taken::Down)
}

/// How following ends.
#[derive(PartialEq)]
enum End {
    Gone,
    /// What is left waits for a person, who was told.
    Held,
}

/// Shows how it goes until the project itself is gone, which is last, or until nothing goes on by itself. What fails and is tried
/// again is told with the way out, once, and waited for.
async fn until_gone(shown: &mut Shown, client: &Client, project: &str) -> Result<End, AnyError> {
    let mut follower = Follower::new(client, &follow::kinds());
    let mut tick = tokio::time::interval(REDRAW);
    let mut silent_since = Instant::now();
    let mut told = BTreeSet::new();
    loop {
        tokio::select! {
            news = follower.next() => {
                silent_since = Instant::now();
                let Some(news) = news else {
                    return Err("the server has stopped".into());
                };
                let last = matches!(&news, News::Gone(uid) if uid == project);
                shown.take(news);
                if last {
                    shown.screen.draw(&[]);
                    return Ok(End::Gone);
                }
                // It may be gone before anything was seen of it.
                if follower.is_complete() && !shown.state.contains(project) {
                    return Ok(End::Gone);
                }
            }
            _ = tick.tick() => {
                shown.draw();
                if silent_since.elapsed() < SILENT {
                    continue;
                }
                silent_since = Instant::now();
                let late = shown.late();
                let looked_at = &late[..late.len().min(LOOKED_AT)];
                let roots = causes::roots(client, looked_at).await?;
                let held = late.len() == looked_at.len() && causes::wait_for_a_person(&roots);
                let is_new = |root: &Root| !told.contains(&(root.object.to_string(), root.message.clone()));
                if held || (!causes::are_at_work(&roots) && roots.iter().any(is_new)) {
                    shown.screen.keep();
                    causes::told(client, &roots).await.iter().for_each(|line| shown.screen.say(line));
                    let now = roots.iter().map(|root| (root.object.to_string(), root.message.clone()));
                    told.extend(now);
                }
                if held {
                    return Ok(End::Held);
                }
            }
        }
    }
}

/// Why nothing goes, and what ends that.
fn protection_in_the_way(protected: &[String]) -> String {
    let first: Vec<_> = protected.iter().take(NAMED).map(String::as_str).collect();
    let more = match protected.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "nothing was deleted, because this is protected from deletion: {}{more}. While the project is up, take {} out of the files, and entries out of spec.protect of {}",
        first.join(", "),
        protection::PROTECT,
        project::SETTINGS_FILE,
    )
}

/// Everything that the project's files stand for, by kind.
fn preview(leaving: &Leaving, project: &str) -> String {
    let Leaving {
        objects: found,
        kept,
        taken,
        protected: _,
    } = leaving;
    let total: usize = found.values().map(Vec::len).sum();
    let total = counted(total, "object");
    let mut text = format!("Project {project}: {total}, and what they own, will be deleted:\n");
    for (kind, names) in found {
        let more = names.len().saturating_sub(NAMED);
        let first: Vec<_> = names.iter().take(NAMED).map(String::as_str).collect();
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        text.push_str(&format!(
            "  {:>4} {kind}: {}{more}\n",
            names.len(),
            first.join(", ")
        ));
    }
    for line in kept.iter().chain(taken) {
        text.push_str(&format!("{line}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_needs_a_server_and_says_how_to_get_one() {
        let left = || "not everything is gone".to_owned();
        assert_eq!(with_way_on(Server::StaysUp, left(), "shop"), left());
        let down = with_way_on(Server::EndsWithThis, left(), "shop");
        assert!(down.starts_with(&left()), "{down}");
        assert!(down.contains("`landform up shop`"), "{down}");
    }
}
