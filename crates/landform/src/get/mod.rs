//! `landform get`: objects as the server's tables, or as they are.

mod sort;
mod watch;

use std::process::ExitCode;

use clap::Args;
use futures::future::join_all;
use kube::Client;
use serde_json::Value;

use crate::client::kind::{Kind, Kinds};
use crate::client::object::{self, FileArgs, Place, Words};
use crate::client::{ClientArgs, block_on, get_as, in_query, is_everywhere, is_of_system};
use crate::exit::{self, misused};
use crate::output::color::Paint;
use crate::output::jsonpath::Path;
use crate::output::table::{self, Shown, Table};
use crate::output::{self, Format, OutputArgs};
use crate::{AnyError, say};

const EXAMPLES: &str = "Examples:
  landform get installations            all of a kind, as a table
  landform get inst,di -A               several kinds, in all namespaces
  landform get inst/db -o yaml          one object as it is
  landform get inst -l team=shop -w     those with a label, and every change from now on
  landform get -f shop/                 the objects that files are about
  landform get di --sort-by=.metadata.creationTimestamp
  landform get inst -o jsonpath='{range .items[*]}{.metadata.name}{\"\\n\"}{end}'
  landform get inst -o custom-columns=NAME:.metadata.name,PHASE:.status.phase

In the directory of a project that is up, all namespaces of the project are shown; -n names one.";

/// Arguments of `landform get`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GetArgs {
    /// KIND[,KIND] [NAME…] or KIND/NAME…; a kind is a singular, plural, short name or KIND.GROUP.
    #[arg(value_name = "KIND [NAME]|KIND/NAME")]
    objects: Vec<String>,
    #[command(flatten)]
    files: FileArgs,
    /// Only objects whose labels fit, for instance `app=shop,tier!=db`.
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<String>,
    /// Only objects whose fields fit, for instance `metadata.name=db`.
    #[arg(long, value_name = "FIELDS")]
    field_selector: Option<String>,
    /// In all namespaces.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Shows every change from now on, until Ctrl-C.
    #[arg(short, long)]
    watch: bool,
    /// In the order of what a path leads to, for instance `.metadata.creationTimestamp`.
    #[arg(long, value_name = "PATH", value_parser = sort::path)]
    sort_by: Option<Path>,
    /// Tables without titles.
    #[arg(long)]
    no_headers: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    server: ClientArgs,
}

pub(crate) fn run(args: GetArgs) -> Result<ExitCode, AnyError> {
    block_on(get(args))
}

impl GetArgs {
    /// Whether all namespaces are looked into.
    fn everywhere(&self) -> bool {
        self.all_namespaces || is_everywhere()
    }
}

/// What is asked for: all of a kind, or one object.
enum Question {
    All(Kind),
    One(Place),
}

impl Question {
    fn kind(&self) -> &Kind {
        match self {
            Self::All(kind) => kind,
            Self::One(place) => &place.kind,
        }
    }
}

async fn get(args: GetArgs) -> Result<ExitCode, AnyError> {
    let client = args.server.connect().await?;
    let questions = questions(&client, &args).await?;
    if args.watch {
        let [question] = questions.as_slice() else {
            return misused("one kind at a time can be watched: name one, or one object");
        };
        return watch::watch(&client, question, &args).await;
    }
    let accept = match args.output.form() {
        None | Some(Format::Wide) => table::ACCEPT,
        Some(_) => "application/json",
    };
    if args.sort_by.is_some() && args.watch {
        return misused(
            "--sort-by needs all objects, and a watch has no end: leave one of them out",
        );
    }
    let reads = questions.iter().map(|question| {
        let path = path(&client, question, &args);
        let client = &client;
        async move { get_as(client, &path, accept).await }
    });
    let answers = join_all(reads).await;
    let mut found = Vec::new();
    let mut missing = false;
    for (question, answer) in questions.iter().zip(answers) {
        match (answer?, question) {
            (Some(answer), _) => found.push((question.kind(), answer)),
            (None, Question::One(place)) => {
                eprintln!("error: {}", place.missing());
                missing = true;
            }
            (None, Question::All(kind)) => {
                eprintln!("error: the server has no {} any more", kind.plural);
                missing = true;
            }
        }
    }
    let single = matches!(questions.as_slice(), [Question::One(_)]);
    if let Some(path) = &args.sort_by {
        found
            .iter_mut()
            .for_each(|(_, answer)| sort::sort(answer, path));
    }
    if everywhere_unasked(&args) {
        found
            .iter_mut()
            .for_each(|(_, answer)| without_system(answer));
    }
    say(&shown(&found, single, &args)?)?;
    if !missing && found.iter().all(|(_, answer)| is_empty(answer)) && args.output.form().is_none()
    {
        let place = if args.everywhere() {
            "in any namespace".to_owned()
        } else {
            format!("in namespace {}", client.default_namespace())
        };
        let hint = if args.everywhere() {
            ""
        } else {
            "; -A looks into all namespaces"
        };
        eprintln!("Nothing found {place}{hint}.");
    }
    Ok(if missing { exit::FAILED } else { exit::OK })
}

async fn questions(client: &Client, args: &GetArgs) -> Result<Vec<Question>, AnyError> {
    let selects = args.selector.is_some() || args.field_selector.is_some();
    if args.files.files.is_empty()
        && let Words::Kinds(words) = object::words(&args.objects)?
    {
        let kinds = Kinds::load(client).await?;
        let found = words
            .iter()
            .map(|word| Ok(Question::All(kinds.find(word)?)));
        return found.collect();
    }
    if selects || args.all_namespaces {
        return misused("-l, --field-selector and -A look for objects: name none");
    }
    let places = object::places(client, &args.objects, &args.files).await?;
    Ok(places.into_iter().map(Question::One).collect())
}

/// Where the answer is.
fn path(client: &Client, question: &Question, args: &GetArgs) -> String {
    match question {
        Question::One(place) => place.path(),
        Question::All(kind) => {
            let namespace = if args.everywhere() {
                ""
            } else {
                client.default_namespace()
            };
            let selectors = [
                ("labelSelector", &args.selector),
                ("fieldSelector", &args.field_selector),
            ];
            let selectors = selectors.into_iter().filter_map(|(name, value)| {
                let value = value.as_ref()?;
                Some(format!("{name}={}", in_query(value)))
            });
            // A table is sorted by what its rows are about.
            let whole = args
                .sort_by
                .iter()
                .map(|_| "includeObject=Object".to_owned());
            let query = selectors.chain(whole).collect::<Vec<_>>().join("&");
            let path = kind.list_path(namespace);
            if query.is_empty() {
                path
            } else {
                format!("{path}?{query}")
            }
        }
    }
}

fn is_empty(answer: &Value) -> bool {
    let rows = ["rows", "items"].map(|field| answer[field].as_array());
    rows.into_iter().flatten().all(Vec::is_empty) && answer["metadata"]["name"].is_null()
}

/// The objects of an answer, each with its kind: items of a list have none.
fn items(kind: &Kind, answer: &Value) -> Vec<Value> {
    let Some(items) = answer["items"].as_array() else {
        return vec![answer.clone()];
    };
    let with_kind = items.iter().map(|item| {
        let mut item = item.clone();
        if item["kind"].is_null() {
            item["apiVersion"] = kind.api_version().into();
            item["kind"] = kind.kind.clone().into();
        }
        item
    });
    with_kind.collect()
}

fn shown(found: &[(&Kind, Value)], single: bool, args: &GetArgs) -> Result<String, AnyError> {
    let objects = || {
        let objects = found.iter().flat_map(|(kind, answer)| items(kind, answer));
        objects.collect::<Vec<_>>()
    };
    match args.output.form() {
        Some(format @ (Format::Json | Format::Yaml | Format::Made(_))) => {
            if single && found.is_empty() {
                return Ok(String::new());
            }
            output::objects(objects(), single, format)
        }
        Some(Format::Name) => {
            let all = found.iter().flat_map(|(kind, answer)| {
                let items = items(kind, answer).into_iter();
                items.map(|item| name_line(kind, &item))
            });
            Ok(all.collect())
        }
        None | Some(Format::Wide) => Ok(tables(found, args)),
    }
}

fn name_line(kind: &Kind, item: &Value) -> String {
    let name = item["metadata"]["name"].as_str().unwrap_or_default();
    format!("{}/{name}\n", kind.word())
}

/// Whether a project's namespaces are looked into without a word.
fn everywhere_unasked(args: &GetArgs) -> bool {
    is_everywhere() && !args.all_namespaces
}

/// The namespace of a row or an item.
fn namespace_of(found: &Value) -> &str {
    let object = found.get("object").unwrap_or(found);
    object["metadata"]["namespace"].as_str().unwrap_or_default()
}

/// Leaves out what is no project's.
fn without_system(answer: &mut Value) {
    for field in ["rows", "items"] {
        if let Some(list) = answer.get_mut(field).and_then(Value::as_array_mut) {
            list.retain(|found| !is_of_system(namespace_of(found)));
        }
    }
}

/// In a project's directory the column of namespaces is there when it says something.
fn shows_namespaces(found: &[(&Kind, Value)], args: &GetArgs) -> bool {
    if !everywhere_unasked(args) {
        return args.all_namespaces;
    }
    let rows = found
        .iter()
        .flat_map(|(_, answer)| answer["rows"].as_array());
    let mut rows = rows.flatten().map(namespace_of);
    rows.any(|namespace| !namespace.is_empty() && namespace != "default")
}

/// One table for each kind.
fn tables(found: &[(&Kind, Value)], args: &GetArgs) -> String {
    let several = found
        .iter()
        .any(|(kind, _)| found.iter().any(|(other, _)| other != kind));
    let mut tables: Vec<(&Kind, Table)> = Vec::new();
    for (kind, answer) in found {
        let word = if several { kind.word() } else { String::new() };
        let shown = Shown {
            wide: args.output.form() == Some(Format::Wide),
            namespaces: kind.namespaced && shows_namespaces(found, args),
            kind: &word,
        };
        let Some(table) = table::of_server(answer, shown) else {
            continue;
        };
        match tables.last_mut() {
            // Objects that were named one by one stand in one table.
            Some((last, before)) if last == kind && before.titles == table.titles => {
                before.rows.extend(table.rows);
            }
            _ => tables.push((kind, table)),
        }
    }
    let paint = Paint::new(args.output.color.color);
    let texts = tables
        .iter()
        .filter(|(_, table)| !table.rows.is_empty())
        .map(|(_, table)| {
            if args.no_headers {
                return table.lines(&table.widths(), paint);
            }
            table.text(paint)
        });
    texts.collect::<Vec<_>>().join("\n")
}
