//! `landform why`, `tree` and `graph`: what the server's views say, for people.
//!
//! On a cluster without Landform's server the views are missing; `why` then reads the objects itself.

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use kube::Client;
use landform_explain::graph::Graph;
use landform_explain::render::{self, Style};
use landform_explain::tree::{self, Forest, Scope};
use landform_explain::why::Why;
use landform_explain::{ClientReader, explain};
use time::OffsetDateTime;

use crate::client::object::{FileArgs, Place, places};
use crate::client::{ClientArgs, block_on, get, is_everywhere};
use crate::exit::misused;
use crate::logs::{item_path, items_of, last_lines};
use crate::output::color::Paint;
use crate::output::harmless::{one_line, one_lined};
use crate::output::{ColorArgs, Format, ReportArgs, one};
use crate::{AnyError, exit, say};

/// The ends of so many logs are shown.
const LOGS_SHOWN: usize = 5;
const VIEWS: &str = "/apis/landform.dev/v1alpha1";

/// Arguments of `landform why`.
#[derive(Args)]
#[command(after_help = "Examples:
  landform why installation/web            why it is not ready, down to the root causes
  landform why apptype notes               why an upgrade is blocked
  landform why installation/web --json     the same for programs")]
pub(crate) struct WhyArgs {
    /// The object: KIND/NAME or KIND NAME.
    #[arg(value_name = "KIND/NAME", required = true, num_args = 1..=2)]
    object: Vec<String>,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    color: ColorArgs,
    #[command(flatten)]
    server: ClientArgs,
}

pub(crate) fn why(args: WhyArgs) -> Result<ExitCode, AnyError> {
    block_on(async {
        let client = args.server.connect().await?;
        let place = one_place(&client, &args.object).await?;
        let mut why = ask_why(&client, &place).await?;
        with_namespaces(&mut why, client.default_namespace());
        let text = match args.report.form() {
            Some(form) => one(&serde_json::to_value(&why)?, form)?,
            None => {
                let text = render::why_styled(&one_lined(&why)?, style(args.color));
                let more = if why.well {
                    stopped_below(&client, &place).await?
                } else {
                    ends_of_logs(&client, &why).await
                };
                text + &more
            }
        };
        say(&text)?;
        Ok(exit::OK)
    })
}

/// Processes of an installation or execution that are stopped: for all that depends on it, it is as it should be.
async fn stopped_below(client: &Client, place: &Place) -> Result<String, AnyError> {
    if !["Installation", "Execution"].contains(&place.kind.kind.as_str()) {
        return Ok(String::new());
    }
    let mut names = Vec::new();
    for (namespace, name) in items_of(client, place).await? {
        let item = get(client, &item_path(&namespace, &name)).await?;
        if item.is_some_and(|item| item["status"]["providerStatus"]["stopped"] == true) {
            names.push(format!("DeployItem/{name}"));
        }
    }
    if names.is_empty() {
        return Ok(String::new());
    }
    let (names, own, namespace) = (names.join(", "), place.short(), &place.namespace);
    let text = format!(
        "\nStopped on request: {names}\n  → start all of them when they may run: landform start {own} -n {namespace}\n"
    );
    Ok(text)
}

/// What the processes that are root causes have printed last, as far as the caller may read it.
async fn ends_of_logs(client: &Client, why: &Why) -> String {
    let items = why
        .roots
        .iter()
        .filter(|root| root.object.kind == "DeployItem");
    let mut text = String::new();
    for root in items.take(LOGS_SHOWN) {
        let (namespace, name) = (&root.object.namespace, &root.object.name);
        let lines = last_lines(client, namespace, name, &root.reason).await;
        if let Some((first, lines)) = lines.split_first() {
            text.push_str(&format!(
                "\n{}, {first}\n",
                one_line(&root.object.to_string())
            ));
            lines
                .iter()
                .for_each(|line| text.push_str(&format!("{line}\n")));
        }
    }
    text
}

/// Asks the server; reads for itself where that has no such view.
async fn ask_why(client: &Client, place: &Place) -> Result<Why, AnyError> {
    let path = format!("{VIEWS}/why/{}", place.view_path());
    if let Some(answer) = get(client, &path).await? {
        return Ok(serde_json::from_value(answer)?);
    }
    if get(client, &place.path()).await?.is_none() {
        return Err(place.missing().into());
    }
    Ok(explain(&ClientReader::new(client.clone()), &place.object_ref()).await?)
}

/// Commands leave the namespace `default` out. Where another one is that of commands without, it must be said.
fn with_namespaces(why: &mut Why, usual: &str) {
    if usual == "default" {
        return;
    }
    let links = why
        .chain
        .iter()
        .filter_map(|link| link.state.object.as_ref());
    let names: BTreeSet<String> = links
        .chain(why.roots.iter().map(|root| &root.object))
        .filter(|object| object.namespace == "default")
        .map(ToString::to_string)
        .collect();
    for root in &mut why.roots {
        for name in &names {
            root.act = said(&root.act, name);
        }
    }
}

/// The advice, with the namespace behind a name that is an argument of a command.
fn said(act: &str, name: &str) -> String {
    let mut out = String::new();
    let mut rest = act;
    while let Some(at) = rest.find(name) {
        let (before, after) = rest.split_at(at);
        let after = &after[name.len()..];
        out.push_str(before);
        out.push_str(name);
        let mut words = before.trim_end().rsplit(' ');
        let is_argument = words.nth(1) == Some("landform") && before.ends_with(' ');
        let ends = !after.starts_with(|next: char| next.is_alphanumeric() || "-.".contains(next));
        if is_argument && ends && !after.starts_with(" -n ") {
            out.push_str(" -n default");
        }
        rest = after;
    }
    out + rest
}

async fn one_place(client: &Client, words: &[String]) -> Result<Place, AnyError> {
    let mut found = places(client, words, &FileArgs::default()).await?;
    match (found.pop(), found.is_empty()) {
        (Some(place), true) => Ok(place),
        _ => misused("name one object: KIND/NAME or KIND NAME"),
    }
}

fn style(color: ColorArgs) -> &'static dyn Style {
    if Paint::new(color.color).is_on() {
        &render::Ansi
    } else {
        &render::Plain
    }
}

/// Arguments of `landform tree`.
#[derive(Args)]
pub(crate) struct TreeArgs {
    /// The object at the top: KIND/NAME or KIND NAME [default: all of the namespace that nobody owns].
    #[arg(value_name = "KIND/NAME", num_args = 0..=2)]
    object: Vec<String>,
    /// Only objects of this project, of all namespaces.
    #[arg(long, value_name = "NAME", conflicts_with = "object")]
    project: Option<String>,
    /// Of all namespaces.
    #[arg(short = 'A', long, conflicts_with = "object")]
    all_namespaces: bool,
    #[command(flatten)]
    report: ReportArgs,
    #[command(flatten)]
    color: ColorArgs,
    #[command(flatten)]
    server: ClientArgs,
}

/// How a graph is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Picture {
    /// For a terminal.
    Text,
    /// For Graphviz.
    Dot,
    /// For Markdown.
    Mermaid,
    /// A picture.
    Svg,
    /// For programs.
    Json,
    /// For programs.
    Yaml,
}

/// Arguments of `landform graph`.
#[derive(Args)]
#[command(after_help = "Examples:
  landform graph                           what refers to what in this namespace
  landform graph -o svg > landscape.svg    as a picture
  landform graph -o dot | dot -Tpng        with Graphviz")]
pub(crate) struct GraphArgs {
    /// The form of the picture.
    #[arg(short, long, value_enum, default_value_t = Picture::Text, value_name = "FORM")]
    output: Picture,
    /// The same as -o json.
    #[arg(long, conflicts_with = "output")]
    json: bool,
    /// Of all namespaces.
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    #[command(flatten)]
    color: ColorArgs,
    #[command(flatten)]
    server: ClientArgs,
}

pub(crate) fn tree(args: TreeArgs) -> Result<ExitCode, AnyError> {
    block_on(async {
        let client = args.server.connect().await?;
        let forest = ask_tree(&client, &args).await?;
        let text = match args.report.form() {
            Some(form) => one(&serde_json::to_value(&forest)?, form)?,
            None => render::tree_styled(
                &one_lined(&forest)?,
                OffsetDateTime::now_utc(),
                style(args.color),
            ),
        };
        say(&text)?;
        Ok(exit::OK)
    })
}

async fn ask_tree(client: &Client, args: &TreeArgs) -> Result<Forest, AnyError> {
    let reader = ClientReader::new(client.clone());
    if !args.object.is_empty() {
        let place = one_place(client, &args.object).await?;
        let path = format!("{VIEWS}/tree/{}", place.view_path());
        if let Some(answer) = get(client, &path).await? {
            return Ok(serde_json::from_value(answer)?);
        }
        return Ok(tree::below(&reader, &place.object_ref()).await?);
    }
    let scope = Scope {
        namespace: (args.project.is_none() && !args.all_namespaces && !is_everywhere())
            .then(|| client.default_namespace().to_owned()),
        project: args.project.clone(),
    };
    match get(client, &format!("{VIEWS}/tree{}", query(&scope))).await? {
        Some(answer) => Ok(serde_json::from_value(answer)?),
        None => Ok(tree::forest(&reader, &scope).await?),
    }
}

pub(crate) fn graph(args: GraphArgs) -> Result<ExitCode, AnyError> {
    block_on(async {
        let client = args.server.connect().await?;
        let scope = Scope {
            namespace: (!args.all_namespaces && !is_everywhere())
                .then(|| client.default_namespace().to_owned()),
            project: None,
        };
        let graph: Graph = match get(&client, &format!("{VIEWS}/graph{}", query(&scope))).await? {
            Some(answer) => serde_json::from_value(answer)?,
            None => landform_explain::graph::graph(&ClientReader::new(client), &scope).await?,
        };
        let output = if args.json {
            Picture::Json
        } else {
            args.output
        };
        let text = match output {
            Picture::Text => render::graph_text_styled(&one_lined(&graph)?, style(args.color)),
            Picture::Dot => render::graph_dot(&graph),
            Picture::Mermaid => render::graph_mermaid(&graph),
            Picture::Svg => render::graph_svg(&graph),
            Picture::Json => one(&serde_json::to_value(&graph)?, Format::Json)?,
            Picture::Yaml => one(&serde_json::to_value(&graph)?, Format::Yaml)?,
        };
        say(&text)?;
        Ok(exit::OK)
    })
}

fn query(scope: &Scope) -> String {
    let namespace = scope
        .namespace
        .as_ref()
        .map(|name| format!("namespace={name}"));
    let project = scope.project.as_ref().map(|name| format!("project={name}"));
    let parts: Vec<_> = namespace.into_iter().chain(project).collect();
    if parts.is_empty() {
        String::new()
    } else {
        format!("?{}", parts.join("&"))
    }
}

#[cfg(test)]
mod tests {
    use super::said;

    #[test]
    fn a_command_names_the_namespace_that_is_not_the_usual_one() {
        for (act, expected) in [
            (
                "then run: landform retry DeployItem/a",
                "then run: landform retry DeployItem/a -n default",
            ),
            (
                "landform retry DeployItem/a, or wait",
                "landform retry DeployItem/a -n default, or wait",
            ),
            (
                "landform retry DeployItem/a -n team",
                "landform retry DeployItem/a -n team",
            ),
            (
                "landform retry DeployItem/ab",
                "landform retry DeployItem/ab",
            ),
            (
                "fix DeployItem/a in the file x",
                "fix DeployItem/a in the file x",
            ),
        ] {
            assert_eq!(said(act, "DeployItem/a"), expected);
        }
    }
}
