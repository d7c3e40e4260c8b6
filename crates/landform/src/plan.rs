//! `landform plan`: what files would change, without touching anything.
//!
//! The server runs its reconcilers on a fork of its store (view `plans`); this command says what to change there:
//! what files say, or all that a sync of a project's directory would do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use http::Method;
use kube::Client;
use landform_api::project::SETTINGS_FILE;
use landform_blueprint::{FileLimits, Files};
use landform_plan::render::{self, Colours};
use landform_plan::{Named, Plan, Question, Rename};
use landform_project::preview;
use serde_json::Value;

use crate::client::object::{FileArgs, read};
use crate::client::{ClientArgs, block_on, plain, send};
use crate::output::color::Paint;
use crate::output::harmless::{harmless, one_line, one_lined};
use crate::output::live::Live;
use crate::output::{ColorArgs, ReportArgs, one};
use crate::up::{problem_lines, project_name};
use crate::{AnyError, exit, say};

const VIEW: &str = "/apis/landform.dev/v1alpha1/plans";

/// A request may be 3 MiB long, and base64 takes a third more.
const BLUEPRINT_BYTES: usize = 2 << 20;

/// Arguments of `landform plan`.
#[derive(Args)]
#[command(after_help = "Examples:
  landform plan                      what the project around this directory would change
  landform plan examples/shop        the same for another directory
  landform plan -f api.yaml          what applying a file would change

Exits with 0 when nothing would change, and with 2 when something would, or when there are problems.")]
pub(crate) struct PlanArgs {
    /// A project's directory [default: this one].
    #[arg(value_name = "DIR", conflicts_with = "files")]
    directory: Option<PathBuf>,
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    color: ColorArgs,
    #[command(flatten)]
    server: ClientArgs,
}

pub(crate) fn run(args: PlanArgs) -> Result<ExitCode, AnyError> {
    block_on(async {
        let client = args.server.connect_near(args.directory.as_deref()).await?;
        let Asked { question, problems } = question(&client, &args).await?;
        let mut live = Live::new();
        live.show("planning on a fork of the store …");
        let body = serde_json::to_value(&question)?;
        let answer = send(&client, Method::POST, VIEW, &body).await;
        live.clear();
        let plan: Plan = match answer {
            Ok(answer) => serde_json::from_value(answer)?,
            Err(kube::Error::Api(status)) if status.code == 404 => {
                return Err("this server can't plan: it needs a server of Landform (`landform up` or `landform serve`); `landform diff` compares files with objects on any cluster".into());
            }
            Err(error) => return Err(plain(error)),
        };
        let text = if let Some(form) = args.report.form() {
            one(&serde_json::to_value(&plan)?, form)?
        } else {
            let colours = if Paint::new(args.color.color).is_on() {
                Colours::Ansi
            } else {
                Colours::None
            };
            render::plan(&one_lined(&plan)?, colours)
        };
        say(&text)?;
        Ok(if !plan.is_empty() || problems > 0 {
            exit::changes()
        } else {
            exit::OK
        })
    })
}

/// What is asked, and how many problems were told of files.
pub(crate) struct Asked {
    pub(crate) question: Question,
    pub(crate) problems: usize,
}

/// What would be changed.
async fn question(client: &Client, args: &PlanArgs) -> Result<Asked, AnyError> {
    if !args.files.files.is_empty() {
        let is_project = |path: &&PathBuf| path.join(SETTINGS_FILE).is_file();
        let mut objects = Vec::new();
        match args.files.files.as_slice() {
            [only] if is_project(&only) => return of_project(client, only).await,
            _ => {
                for manifest in read(&args.files)? {
                    objects.push(in_namespace(client, manifest.value));
                }
            }
        }
        let question = Question {
            objects,
            ..Question::default()
        };
        return Ok(Asked {
            question,
            problems: 0,
        });
    }
    let directory = args.directory.as_deref().unwrap_or(Path::new("."));
    of_project(client, directory).await
}

/// A manifest without a namespace is for that of the kubeconfig. What is of the cluster ignores it.
fn in_namespace(client: &Client, mut manifest: Value) -> Value {
    let metadata = &mut manifest["metadata"];
    if metadata["namespace"].is_null() && client.default_namespace() != "default" {
        metadata["namespace"] = client.default_namespace().into();
    }
    manifest
}

/// All that a sync of the directory would do. Problems of files are told; the rest is planned.
pub(crate) async fn of_project(client: &Client, directory: &Path) -> Result<Asked, AnyError> {
    let directory = directory.canonicalize().map_err(|error| {
        format!(
            "there is no project in {}: {error}; name its directory, or files with -f",
            directory.display()
        )
    })?;
    let found = preview(client, &directory, &project_name(client, &directory).await?).await?;
    for problem in &found.problems {
        for line in problem_lines(problem) {
            eprintln!("{}", harmless(&line));
        }
    }
    for line in found.kept.iter().chain(&found.taken) {
        eprintln!("{}", one_line(line));
    }
    if let Some(held) = &found.held {
        eprintln!("{}", one_line(held));
    }
    let blueprints = match &found.blueprints {
        Some(places) => Some(landform_plan::Blueprints {
            directory: PathBuf::from(&found.directory),
            files: read_blueprints(places)?,
        }),
        None => None,
    };
    let named = |api_version: String, id: landform_project::ObjectId| Named {
        api_version,
        kind: id.kind,
        namespace: id.namespace.unwrap_or_default(),
        name: id.name,
    };
    let deletions = found.deletions.into_iter();
    let renames = found.renames.into_iter();
    let question = Question {
        objects: found
            .objects
            .iter()
            .map(|object| (**object).clone())
            .collect(),
        delete: deletions.map(|(version, id)| named(version, id)).collect(),
        rename: renames
            .map(|(version, id, to)| Rename {
                object: named(version, id),
                to,
            })
            .collect(),
        blueprints,
    };
    Ok(Asked {
        question,
        problems: found.problems.len(),
    })
}

/// The files of blueprints, in base64. What can't be read is told; installations that need it will fail in the plan.
fn read_blueprints(
    places: &BTreeMap<String, PathBuf>,
) -> Result<BTreeMap<String, BTreeMap<String, String>>, AnyError> {
    let (mut all, mut bytes) = (BTreeMap::new(), 0);
    for (path, place) in places {
        let files = match Files::from_directory(place, &FileLimits::default()) {
            Ok(files) => files,
            Err(error) => {
                eprintln!("{}", one_line(&format!("error: {path}: {error}")));
                continue;
            }
        };
        let encoded = files.iter().map(|(name, content)| {
            bytes += content.len();
            (name.to_owned(), STANDARD.encode(content))
        });
        all.insert(path.clone(), encoded.collect());
    }
    if bytes > BLUEPRINT_BYTES {
        return Err(format!(
            "the project's blueprints have {bytes} bytes, more than the {BLUEPRINT_BYTES} that a plan of another directory may have: plan in the project's own directory, or name files with -f"
        )
        .into());
    }
    Ok(all)
}
