//! `landform label` and `landform annotate`: marks on objects, added, changed and taken off.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::Args;
use kube::Client;
use serde_json::{Value, json};

use super::DryRun;
use super::selected::{SelectArgs, Selected};
use crate::client::{ClientArgs, block_on, merge};
use crate::exit::{self, misused};
use crate::output::harmless::harmless;
use crate::output::{self, Format, OutputArgs};
use crate::{AnyError, say};

const LABEL_EXAMPLES: &str = "Examples:
  landform label inst/db team=shop                    adds a label
  landform label inst/db team=web --overwrite         changes it
  landform label inst/db team-                        takes it off
  landform label cm -l app=old app=new --overwrite    of all that a selector fits
  landform label inst --all stage=test                of all in the namespace
  landform label inst/db --list                       shows them";

const ANNOTATE_EXAMPLES: &str = "Examples:
  landform annotate inst/db note='asked for by Ada'         adds an annotation
  landform annotate inst/db note='and by Grace' --overwrite   changes it
  landform annotate inst/db note-                           takes it off
  landform annotate inst --all landform.dev/protect=true    of all in the namespace";

/// Arguments of `landform label`.
#[derive(Args)]
#[command(after_help = LABEL_EXAMPLES)]
pub(crate) struct LabelArgs {
    /// The objects, as KIND/NAME… or KIND NAME…, and then KEY=VALUE to set a label, KEY- to take it off.
    #[arg(value_name = "KIND/NAME… KEY=VALUE|KEY-")]
    words: Vec<String>,
    #[command(flatten)]
    marks: MarkArgs,
}

/// Arguments of `landform annotate`.
#[derive(Args)]
#[command(after_help = ANNOTATE_EXAMPLES)]
pub(crate) struct AnnotateArgs {
    /// The objects, as KIND/NAME… or KIND NAME…, and then KEY=VALUE to set an annotation, KEY- to take it off.
    #[arg(value_name = "KIND/NAME… KEY=VALUE|KEY-")]
    words: Vec<String>,
    #[command(flatten)]
    marks: MarkArgs,
}

/// What both have.
#[derive(Args)]
pub(crate) struct MarkArgs {
    #[command(flatten)]
    select: SelectArgs,
    /// Values that are there may be changed.
    #[arg(long)]
    overwrite: bool,
    /// Show those that are there.
    #[arg(long)]
    list: bool,
    /// Only if the object is still in this version.
    #[arg(long, value_name = "VERSION")]
    resource_version: Option<String>,
    /// Ask the server to do everything but keep it.
    #[arg(long, value_enum, value_name = "WHERE", num_args = 0..=1,
          default_missing_value = "server", require_equals = true, default_value_t = DryRun::None)]
    dry_run: DryRun,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    server: ClientArgs,
}

/// Labels or annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marks {
    Labels,
    Annotations,
}

impl Marks {
    fn field(self) -> &'static str {
        match self {
            Self::Labels => "labels",
            Self::Annotations => "annotations",
        }
    }

    fn one(self) -> &'static str {
        match self {
            Self::Labels => "label",
            Self::Annotations => "annotation",
        }
    }
}

pub(crate) fn label(args: LabelArgs) -> Result<ExitCode, AnyError> {
    block_on(mark(Marks::Labels, args.words, args.marks))
}

pub(crate) fn annotate(args: AnnotateArgs) -> Result<ExitCode, AnyError> {
    block_on(mark(Marks::Annotations, args.words, args.marks))
}

/// A change of marks: a value, or none to take one off.
type Changes = BTreeMap<String, Option<String>>;

async fn mark(marks: Marks, words: Vec<String>, args: MarkArgs) -> Result<ExitCode, AnyError> {
    let (objects, changes) = split(marks, &words)?;
    if changes.is_empty() && !args.list {
        return misused(format!(
            "say what to change: KEY=VALUE sets a {0}, KEY- takes it off, --list shows what is there",
            marks.one()
        ));
    }
    let client = args.server.connect().await?;
    let (mut marked, mut failed) = (Vec::new(), false);
    let selected = args.select.find(&client, &objects).await?;
    let several = selected.len() > 1;
    for selected in selected {
        let done = match selected {
            Ok(selected) => one(&client, marks, &changes, selected, &args, several).await,
            Err(error) => Err(error),
        };
        match done {
            Ok(after) => marked.push(after),
            Err(error) => {
                failed = true;
                eprintln!("error: {}", harmless(&error.to_string()));
            }
        }
    }
    if let Some(form) = args.output.form().filter(|form| form.wants_objects())
        && !marked.is_empty()
    {
        let single = marked.len() == 1;
        say(&output::objects(marked, single, form)?)?;
    }
    Ok(if failed { exit::FAILED } else { exit::OK })
}

/// Changes one object and says so; returns what it is then.
async fn one(
    client: &Client,
    marks: Marks,
    changes: &Changes,
    selected: Selected,
    args: &MarkArgs,
    several: bool,
) -> Result<Value, AnyError> {
    let Selected { place, object } = selected;
    let title = format!("{}/{}", place.kind.word(), place.name);
    let before = &object["metadata"][marks.field()];
    if !args.overwrite {
        let taken = changes.iter().find(|(key, value)| {
            let found = before[key.as_str()].as_str();
            value.is_some() && found.is_some() && found != value.as_deref()
        });
        if let Some((key, _)) = taken {
            return Err(format!(
                "{}: '{key}' already has a value ({}): --overwrite changes it",
                place.short(),
                before[key.as_str()].as_str().unwrap_or_default()
            )
            .into());
        }
    }
    for (key, value) in changes {
        if value.is_none() && before[key.as_str()].is_null() {
            eprintln!("{} {key:?} not found on {title}", marks.one());
        }
    }
    let differs = changes
        .iter()
        .any(|(key, value)| before[key.as_str()].as_str() != value.as_deref());
    let after = if differs {
        let mut patch = json!({"metadata": {marks.field(): changes}});
        if let Some(version) = &args.resource_version {
            patch["metadata"]["resourceVersion"] = version.clone().into();
        }
        let path = format!("{}{}", place.path(), args.dry_run.query());
        let sent = merge(client, &path, &patch).await;
        sent.map_err(|error| format!("{}: {error}", place.short()))?
    } else {
        object.clone()
    };
    if args.list {
        if several {
            say(&format!("Listing {} for {title}:\n", marks.field()))?;
        }
        list(&after["metadata"][marks.field()])?;
        return Ok(after);
    }
    match args.output.form() {
        None | Some(Format::Wide) => {
            let word = done(marks, changes, differs);
            say(&format!("{title} {word}{}\n", args.dry_run.word()))?;
        }
        Some(Format::Name) => say(&format!("{title}\n"))?,
        Some(Format::Json | Format::Yaml | Format::Made(_)) => {}
    }
    Ok(after)
}

/// The word for what was done, as kubectl has it.
fn done(marks: Marks, changes: &Changes, differs: bool) -> &'static str {
    match marks {
        Marks::Annotations => "annotated",
        Marks::Labels if !differs => "not labeled",
        Marks::Labels if changes.values().all(Option::is_none) => "unlabeled",
        Marks::Labels => "labeled",
    }
}

fn list(found: &Value) -> Result<(), AnyError> {
    let mut text = String::new();
    for (key, value) in found.as_object().into_iter().flatten() {
        text.push_str(&format!("{key}={}\n", value.as_str().unwrap_or_default()));
    }
    say(&text)
}

/// Objects first, then changes.
fn split(marks: Marks, words: &[String]) -> Result<(Vec<String>, Changes), AnyError> {
    let is_change = |word: &String| word.contains('=') || word.ends_with('-');
    let first = words.iter().position(is_change).unwrap_or(words.len());
    let (objects, rest) = words.split_at(first);
    let mut changes = Changes::new();
    for word in rest {
        let (key, value) = match (word.split_once('='), word.strip_suffix('-')) {
            (Some((key, value)), _) if !key.is_empty() => (key, Some(value.to_owned())),
            (None, Some(key)) if !key.is_empty() => (key, None),
            _ => {
                return misused(format!(
                    "{word:?} is no change of a {}: write KEY=VALUE or KEY-, after the objects",
                    marks.one()
                ));
            }
        };
        let before = changes.insert(key.to_owned(), value.clone());
        if before.is_some_and(|before| before != value) {
            return misused(format!("{key} is to become two things: say one"));
        }
    }
    Ok((objects.to_vec(), changes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Vec<String>, Changes), AnyError> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        split(Marks::Labels, &words)
    }

    #[test]
    fn objects_come_first_and_then_changes() {
        let (objects, changes) = read("cm a b x=1 example.com/y=a=b z- e=").unwrap();
        assert_eq!(objects, ["cm", "a", "b"]);
        let value = |key: &str| changes[key].as_deref();
        assert_eq!(value("x"), Some("1"));
        assert_eq!(value("example.com/y"), Some("a=b"));
        assert_eq!((value("z"), value("e")), (None, Some("")));
        for wrong in ["cm/a x=1 cm/b", "cm/a =1", "cm/a -", "cm/a x=1 x-"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_was_done_has_kubectl_s_word() {
        let (_, set) = read("cm/a x=1").unwrap();
        let (_, off) = read("cm/a x-").unwrap();
        assert_eq!(done(Marks::Labels, &set, true), "labeled");
        assert_eq!(done(Marks::Labels, &set, false), "not labeled");
        assert_eq!(done(Marks::Labels, &off, true), "unlabeled");
        assert_eq!(done(Marks::Annotations, &off, true), "annotated");
    }
}
