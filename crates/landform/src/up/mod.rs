//! `landform up`: a project's directory, brought up on this machine and kept as its files say.
//!
//! Reading order: `sight.rs` reads one object, `state.rs` knows all of them and what changed, `frame.rs` draws
//! them as a tree, `screen.rs` puts that on a terminal, `follow.rs` watches. This file starts the server and
//! tells how it goes; `home.rs` is where a project's data is, `quiet.rs` asks the engine, `ask_first.rs` shows what would be done before it is, `problem.rs` and `causes.rs` tell what is wrong; `down.rs` takes everything down again.

mod ask_first;
mod causes;
mod down;
mod follow;
mod frame;
mod home;
mod problem;
mod quiet;
mod screen;
mod sight;
mod state;
#[cfg(test)]
mod terminal;

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use http::Request;
use kube::Client;
use landform_api::project::{self, ANNOTATION_APPROVED_DELETIONS, HeldDeletions, ProjectProblem};
use landform_project::Settings;
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

pub(crate) use self::down::{DownArgs, run as down};
use self::follow::{Follower, News};
use self::frame::{Heading, frame};
use self::home::Home;
pub(crate) use self::home::project_name;
pub(crate) use self::problem::problem_lines;
use self::quiet::{Troubles, is_quiet, is_read, troubles_of_others};
use self::screen::Screen;
use self::sight::{Sight, Tone};
use self::state::{State, line, span};
use crate::client::{get, plain};
use crate::serve::{AuditArgs, Options, Running, StoreKind};
use crate::store_key::KeyArgs;
use crate::{AnyError, engine, logging};

/// How often a live tree is drawn while something happens.
const REDRAW: Duration = Duration::from_millis(100);
/// What fails and is tried again has this long to succeed when nothing else is worked on: its hook may just be coming up.
const TRIED_AGAIN: Duration = Duration::from_secs(10);

/// Arguments of `landform up`.
#[derive(Args)]
pub(crate) struct UpArgs {
    /// The project's directory.
    #[arg(value_name = "DIR", default_value = ".")]
    directory: PathBuf,
    /// Ends when everything has Succeeded (0), or when something can't without you (1, with the root causes).
    #[arg(long)]
    wait: bool,
    /// With --wait: how long at most, for instance 90s or 5m.
    #[arg(long, value_name = "TIME", requires = "wait")]
    timeout: Option<String>,
    /// Shows what the files would change since the last time, and asks before anything is done.
    #[arg(long)]
    plan: bool,
    /// Agrees to all deletions that the project would hold back for your consent, as long as this command runs.
    #[arg(long)]
    approve_deletes: bool,
    /// Where everything is kept [default: .landform in the project's directory].
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    #[command(flatten)]
    key: KeyArgs,
    /// The address of the API [default: the one of the last time, else 127.0.0.1:7443, else a free port].
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Writes an audit log, as `landform serve` does: audit/audit.log where everything is kept.
    #[arg(long)]
    audit: bool,
}

pub(crate) fn run(args: UpArgs) -> Result<ExitCode, AnyError> {
    let timeout = match args.timeout.as_deref() {
        None => None,
        Some(text) => Some(landform_api::duration::parse(text).ok_or_else(|| {
            format!("--timeout {text:?} is no length of time: say for instance 90s or 5m")
        })?),
    };
    let home = Home::of(&args.directory, args.data_dir.clone(), args.key.clone())?;
    let log = home.make()?;
    logging::start_in_file(&log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    let result = runtime.block_on(up(&args, &home, timeout));
    runtime.shutdown_timeout(Duration::from_millis(200));
    result
}

async fn up(args: &UpArgs, home: &Home, timeout: Option<Duration>) -> Result<ExitCode, AnyError> {
    let begun = Instant::now();
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    if args.plan && !ask_first::is_meant(home).await? {
        println!("Nothing was changed.");
        return Ok(ExitCode::FAILURE);
    }
    let audit = args.audit.then(AuditArgs::usual);
    let running = start(home, args.listen, audit).await?;
    let client = running.client();
    let name = declare(&client, home).await?;
    let mut shown = Shown::new(home, &name, begun);
    shown.approves_deletes = args.approve_deletes;
    shown.screen.say(&format!(
        "landform ready: https://{} kubeconfig={}",
        running.address,
        running.kubeconfig.display()
    ));
    let work = tell(&mut shown, &running, &name, args.wait);
    let limit = async {
        match timeout {
            Some(timeout) => tokio::time::sleep(timeout).await,
            None => std::future::pending().await,
        }
    };
    let end = tokio::select! {
        end = work => end?,
        () = limit => End::TimedOut,
        _ = terminate.recv() => End::Told,
        _ = interrupt.recv() => End::Told,
    };
    let code = match end {
        End::Well => ExitCode::SUCCESS,
        End::TakenDown => {
            shown.screen.draw(&[]);
            shown
                .screen
                .say("The project was taken down; there is nothing left to look after.");
            ExitCode::SUCCESS
        }
        End::Told => {
            shown.screen.keep();
            let text = format!(
                "Stopped. What was deployed goes on; `landform up {0}` continues, `landform down {0}` takes it down.",
                home.shown()
            );
            shown.screen.say(&text);
            ExitCode::SUCCESS
        }
        End::Stuck | End::TimedOut => {
            shown.screen.keep();
            if matches!(end, End::TimedOut) {
                let time = span(timeout.unwrap_or_default());
                shown
                    .screen
                    .say(&format!("Not everything has Succeeded within {time}:"));
            }
            for line in causes::lines(&client, &shown.late()).await? {
                shown.screen.say(&line);
            }
            ExitCode::FAILURE
        }
    };
    running.stop().await;
    Ok(code)
}

/// How following a project ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// Everything has Succeeded.
    Well,
    /// Something failed, and nothing moves on by itself.
    Stuck,
    /// Not everything has Succeeded in time.
    TimedOut,
    /// Somebody wants it to stop.
    Told,
    /// Somebody has taken the project down.
    TakenDown,
}

/// Starts the server on the project's own data.
async fn start(
    home: &Home,
    listen: Option<SocketAddr>,
    audit: Option<AuditArgs>,
) -> Result<Running, AnyError> {
    let root = Some(home.directory.clone());
    Running::start(Options {
        data_dir: home.data_dir.clone(),
        kubeconfig: None,
        store: StoreKind::Embedded,
        controllers: Some(engine::ControllerArgs::for_project(root)),
        listener: home.listener(listen).await?,
        audit,
        store_quota: None,
        key: home.key.clone(),
    })
    .await
    .map_err(|error| home.in_use(error))
}

/// Where a project's object is.
fn path_of(name: &str) -> String {
    format!(
        "/apis/{}/{}/projects/{name}",
        project::GROUP,
        project::VERSION
    )
}

/// Writes the object that stands for the directory; returns its name.
async fn declare(client: &Client, home: &Home) -> Result<String, AnyError> {
    let name = home.project_name(client).await?;
    let all = format!("/apis/{}/{}/projects", project::GROUP, project::VERSION);
    let one = path_of(&name);
    let spec = json!({"directory": home.directory});
    let request = match get(client, &one).await? {
        Some(found) if found["spec"]["directory"] == spec["directory"] => return Ok(name),
        Some(_) => Request::patch(one)
            .header("content-type", "application/merge-patch+json")
            .body(json!({"spec": spec}).to_string().into_bytes())?,
        None => {
            let object = json!({
                "apiVersion": format!("{}/{}", project::GROUP, project::VERSION),
                "kind": project::KIND, "metadata": {"name": name}, "spec": spec,
            });
            Request::post(all)
                .header("content-type", "application/json")
                .body(object.to_string().into_bytes())?
        }
    };
    client.request::<Value>(request).await.map_err(plain)?;
    Ok(name)
}

/// Agrees to held deletions.
async fn approve(client: &Client, project: &str, token: &str) -> Result<(), AnyError> {
    let annotations = json!({ANNOTATION_APPROVED_DELETIONS: token});
    let patch = json!({"metadata": {"annotations": annotations}});
    let request = Request::patch(path_of(project))
        .header("content-type", "application/merge-patch+json")
        .body(patch.to_string().into_bytes())?;
    client.request::<Value>(request).await.map_err(plain)?;
    Ok(())
}

/// What is on the screen, and what it is made from.
struct Shown {
    screen: Screen,
    state: State,
    project: String,
    directory: PathBuf,
    begun: Instant,
    problems: Vec<ProjectProblem>,
    /// The held deletions that were told last.
    held_token: Option<String>,
    /// Whether held deletions are agreed to at once.
    approves_deletes: bool,
    /// Held deletions to agree to.
    to_approve: Option<String>,
    /// Namespaces that stay, and of which that was said.
    kept: BTreeSet<String>,
    /// What was told of objects without a phase.
    others: Vec<String>,
    /// Whether the project was read in this process.
    is_read: bool,
    /// Whether somebody has deleted the project, and all of it is gone.
    taken_down: bool,
    /// The uid of the project's object, once that was seen.
    project_uid: Option<String>,
    /// Whether it was said that all is well, and nothing has happened since.
    said_well: bool,
    /// Since when nothing that has a phase is being worked on.
    resting_since: Option<Instant>,
}

impl Shown {
    fn new(home: &Home, project: &str, begun: Instant) -> Self {
        Self {
            screen: Screen::new(),
            state: State::default(),
            project: project.to_owned(),
            directory: home.directory.clone(),
            begun,
            problems: Vec::new(),
            held_token: None,
            approves_deletes: false,
            to_approve: None,
            kept: BTreeSet::new(),
            others: Vec::new(),
            is_read: false,
            project_uid: None,
            taken_down: false,
            said_well: false,
            resting_since: None,
        }
    }

    /// Takes in what a watch shows; says it in a line when nobody sees the tree.
    fn take(&mut self, news: News) {
        let now = Instant::now();
        if let News::Seen(object) = &news
            && object["kind"] == project::KIND
            && object["metadata"]["name"] == self.project
        {
            self.project_uid = object["metadata"]["uid"].as_str().map(str::to_owned);
        }
        let change = match news {
            News::Listed => None,
            News::Gone(uid) => {
                // Also when nothing of it was shown yet.
                self.taken_down |= self.project_uid.as_ref() == Some(&uid);
                self.state.gone(&uid, now)
            }
            // What it said at the end of the last time is not news.
            News::Seen(object) if object["kind"] == project::KIND && !self.is_read => None,
            News::Seen(object) => {
                self.tell_problems(&object);
                Sight::of(&object).and_then(|sight| self.state.seen(sight, now))
            }
        };
        let Some(change) = change else { return };
        if self.said_well {
            // A new round: the clock of the heading begins anew.
            self.said_well = false;
            self.begun = now;
            self.screen.keep();
        }
        if !self.screen.is_live() {
            self.screen.say(&line(&change));
        }
    }

    /// Problems of files stay on the screen with their place.
    fn tell_problems(&mut self, object: &Value) {
        if object["kind"] != project::KIND || object["metadata"]["name"] != self.project.as_str() {
            return;
        }
        if object["metadata"]["deletionTimestamp"].is_string() {
            // Its files are read no more: to correct them, or to agree to deletions, would do nothing.
            return;
        }
        let found = object["status"]["problems"].clone();
        let found: Vec<ProjectProblem> = serde_json::from_value(found).unwrap_or_default();
        for problem in &found {
            if !self.problems.contains(problem) {
                for line in problem_lines(problem) {
                    self.screen.say(&line);
                }
            }
        }
        if found.is_empty() && !self.problems.is_empty() {
            self.screen.say("All files can be read again.");
        }
        self.problems = found;
        let kept = object["status"]["keptNamespaces"].as_object();
        for (namespace, why) in kept.into_iter().flatten() {
            if self.kept.insert(namespace.clone()) {
                self.screen.say(why.as_str().unwrap_or_default());
            }
        }
        let held = object["status"]["heldDeletions"].clone();
        let held = serde_json::from_value::<HeldDeletions>(held).ok();
        let token = held.as_ref().map(|held| held.token.clone());
        let is_new = self.held_token != token;
        if let Some(held) = held.filter(|_| is_new) {
            let text = if self.approves_deletes {
                self.to_approve = Some(held.token.clone());
                format!(
                    "{}: {} (--approve-deletes).",
                    held.sentence(),
                    held.first.join(", ")
                )
            } else {
                format!(
                    "{}: {}. Say `landform approve project/{}` if that is meant, or bring the files back.",
                    held.sentence(),
                    held.first.join(", "),
                    self.project
                )
            };
            self.screen.say(&text);
        }
        self.held_token = token;
    }

    /// What is not as it should be.
    fn late(&self) -> Vec<Sight> {
        let late = self.state.objects().map(|known| &known.sight);
        late.filter(|sight| sight.tone != Tone::Good)
            .cloned()
            .collect()
    }

    /// Whether nothing has been worked on for this time. A try of something that fails is no work.
    fn has_rested_for(&mut self, time: Duration) -> bool {
        let rests = self.is_read && self.state.is_resting();
        self.resting_since = rests.then(|| self.resting_since.unwrap_or_else(Instant::now));
        self.resting_since
            .is_some_and(|since| since.elapsed() >= time)
    }

    fn draw(&mut self) {
        let heading = Heading {
            project: &self.project,
            elapsed: self.begun.elapsed(),
        };
        let lines = frame(&self.state, &heading, Instant::now(), self.screen.look());
        self.screen.draw(&lines);
    }

    /// Troubles of objects without a phase, each told once.
    fn tell_others(&mut self, troubles: Vec<String>) {
        for trouble in &troubles {
            if !self.others.contains(trouble) {
                self.screen.say(&format!("✗ {trouble}"));
            }
        }
        self.others = troubles;
    }

    fn tell_well(&mut self) {
        if self.said_well {
            return;
        }
        self.draw();
        self.screen.keep();
        let text = format!("Everything is ready after {}.", span(self.begun.elapsed()));
        self.screen.say(&text);
        let stopped = self.state.stopped();
        if !stopped.is_empty() {
            let names = stopped.join(", ");
            let text = format!("  stopped on request: {names} (`landform start` starts them)");
            self.screen.say(&text);
        }
        if let Ok(settings) = Settings::load(&self.directory) {
            for link in settings.links {
                self.screen.say(&format!("  {}: {}", link.name, link.url));
            }
        }
        self.said_well = true;
    }
}

/// Follows everything until an end is reached; without `wait` there is none.
async fn tell(
    shown: &mut Shown,
    running: &Running,
    project: &str,
    wait: bool,
) -> Result<End, AnyError> {
    let mut follower = Follower::new(&running.client(), &follow::kinds());
    let mut tick = tokio::time::interval(REDRAW);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut told_watching = false;
    loop {
        tokio::select! {
            news = follower.next() => match news {
                Some(news) => {
                    shown.take(news);
                    if let Some(token) = shown.to_approve.take() {
                        approve(&running.client(), project, &token).await?;
                    }
                    if shown.taken_down {
                        return Ok(End::TakenDown);
                    }
                }
                None => return Err("the server has stopped".into()),
            },
            _ = tick.tick() => {
                if shown.said_well {
                    // Nothing has happened since; the next news is awaited above.
                    continue;
                }
                shown.draw();
                if !shown.is_read && is_read(running.engine(), project).await? {
                    shown.is_read = true;
                    let found = get(&running.client(), &path_of(project)).await?;
                    found.into_iter().for_each(|found| shown.take(News::Seen(found)));
                }
                let quiet = shown.is_read && follower.is_complete() && is_quiet(running.engine()).await?;
                let ready = quiet && shown.state.is_well();
                let troubles = if ready {
                    troubles_of_others(running.engine()).await?
                } else {
                    Troubles::default()
                };
                let waited = shown.has_rested_for(TRIED_AGAIN);
                if !troubles.tried_again.is_empty() && troubles.final_ones.is_empty() && !waited {
                    // It is not ready, and nothing is wrong yet.
                } else if !troubles.is_empty() {
                    shown.tell_others(troubles.all());
                    if wait {
                        return Ok(End::Stuck);
                    }
                } else if quiet && shown.state.is_well() {
                    shown.tell_well();
                    if wait {
                        return Ok(End::Well);
                    }
                    if !told_watching {
                        told_watching = true;
                        let text = "Watching the files. Ctrl-C stops Landform; what was deployed goes on.";
                        shown.screen.say(text);
                    }
                } else if quiet && wait && (shown.state.is_stuck() || waited) {
                    shown.draw();
                    return Ok(End::Stuck);
                }
            }
        }
    }
}
