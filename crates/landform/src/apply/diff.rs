//! `landform diff`: what `apply` would change, as a unified diff of YAML.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;
use similar::TextDiff;

use super::{Applied, apply_object, in_order};
use crate::client::kind::Kinds;
use crate::client::object::{FileArgs, Manifest, read};
use crate::client::{ClientArgs, block_on};
use crate::exit::{self, misused};
use crate::output::color::{Paint, Tone};
use crate::output::{ColorArgs, HIDDEN, readable, without_secrets};
use crate::{AnyError, say};

const EXAMPLES: &str = "Examples:
  landform diff -f shop.yaml       what `landform apply -f shop.yaml` would change
  landform diff -f shop/ && echo nothing to do

The server checks what would be applied, and keeps nothing. Values of Secrets are not shown.
`landform plan` shows more: what controllers would make of it.";

/// Arguments of `landform diff`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct DiffArgs {
    #[command(flatten)]
    files: FileArgs,
    #[command(flatten)]
    color: ColorArgs,
    #[command(flatten)]
    server: ClientArgs,
}

pub(crate) fn run(args: DiffArgs) -> Result<ExitCode, AnyError> {
    block_on(diff(args))
}

async fn diff(args: DiffArgs) -> Result<ExitCode, AnyError> {
    if args.files.files.is_empty() {
        return misused("say which files to compare: -f FILE, -f DIR or -f -");
    }
    let manifests = in_order(read(&args.files)?);
    let client = args.server.connect().await?;
    let kinds = Kinds::load(&client).await?;
    let paint = Paint::new(args.color.color);
    let mut text = String::new();
    for manifest in &manifests {
        let kind = kinds.of_manifest(&manifest.api_version(), &manifest.kind());
        let defines = |other: &Manifest| {
            other.kind() == "CustomResourceDefinition"
                && other.value["spec"]["names"]["kind"] == manifest.kind().as_str()
        };
        let (before, after, title) = match kind {
            Some(kind) => {
                let applied = apply_object(&client, kind, manifest, true).await;
                match applied {
                    Ok(applied) => sides(applied),
                    // Its namespace is among what would be created.
                    Err(_) if is_new_namespace(manifest, &manifests) => new_one(manifest),
                    Err(error) => return Err(error),
                }
            }
            None if manifests.iter().any(defines) => new_one(manifest),
            None => return Err(manifest.unknown_kind().into()),
        };
        text.push_str(&unified(&before, &after, &title, paint));
    }
    say(&text)?;
    Ok(if text.is_empty() {
        exit::OK
    } else {
        exit::changes()
    })
}

fn is_new_namespace(manifest: &Manifest, all: &[Manifest]) -> bool {
    let namespace = manifest.value["metadata"]["namespace"].as_str();
    all.iter()
        .any(|other| other.kind() == "Namespace" && Some(other.name()) == namespace)
}

/// The two texts of an object, and what it is called.
fn sides(applied: Applied) -> (String, String, String) {
    let metadata = &applied.object["metadata"];
    let name = metadata["name"].as_str().unwrap_or_default();
    let title = match metadata["namespace"].as_str() {
        Some(namespace) => format!("{}/{namespace}/{name}", applied.kind.word()),
        None => format!("{}/{name}", applied.kind.word()),
    };
    let (before, after) = hidden(&applied.before, &applied.object);
    let before = if before.is_null() {
        String::new()
    } else {
        landform_yaml::write(&comparable(before))
    };
    (before, landform_yaml::write(&comparable(after)), title)
}

fn new_one(manifest: &Manifest) -> (String, String, String) {
    let title = format!("{}/{}", manifest.kind().to_lowercase(), manifest.name());
    let (_, after) = hidden(&Value::Null, &manifest.value);
    (String::new(), landform_yaml::write(&after), title)
}

/// Values of Secrets that differ are shown to differ, and nothing more.
fn hidden(before: &Value, after: &Value) -> (Value, Value) {
    let mut old = without_secrets(before.clone(), HIDDEN);
    let mut new = without_secrets(after.clone(), HIDDEN);
    if after["kind"] == "Secret" && !before.is_null() {
        for (name, value) in after["data"].as_object().into_iter().flatten() {
            if before["data"][name].is_string() && before["data"][name] != *value {
                old["data"][name] = "*** (before)".into();
                new["data"][name] = "*** (after)".into();
            }
        }
    }
    (old, new)
}

/// Without what changes by itself.
fn comparable(object: Value) -> Value {
    let mut object = readable(object);
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in ["resourceVersion", "generation", "uid", "creationTimestamp"] {
            metadata.remove(field);
        }
    }
    object
}

fn unified(before: &str, after: &str, title: &str, paint: Paint) -> String {
    if before == after {
        return String::new();
    }
    let diff = TextDiff::from_lines(before, after);
    let old = if before.is_empty() {
        "/dev/null".to_owned()
    } else {
        format!("live/{title}")
    };
    let text = diff
        .unified_diff()
        .context_radius(3)
        .header(&old, &format!("applied/{title}"))
        .to_string();
    let lines = text.split_inclusive('\n').map(|line| {
        let (text, end) = line
            .strip_suffix('\n')
            .map_or((line, ""), |text| (text, "\n"));
        let tone = match text.as_bytes().first() {
            _ if text.starts_with("---") || text.starts_with("+++") => Some(Tone::Bold),
            Some(b'+') => Some(Tone::Good),
            Some(b'-') => Some(Tone::Bad),
            Some(b'@') => Some(Tone::Dim),
            _ => None,
        };
        let text = tone.map_or_else(|| text.to_owned(), |tone| paint.tone(tone, text));
        format!("{text}{end}")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::color::When;
    use serde_json::json;

    #[test]
    fn a_diff_shows_the_lines_that_change() {
        let text = unified(
            "a: 1\nb: 2\n",
            "a: 1\nb: 3\n",
            "configmap/x",
            Paint::new(When::Never),
        );
        assert_eq!(
            text,
            "--- live/configmap/x\n+++ applied/configmap/x\n@@ -1,2 +1,2 @@\n a: 1\n-b: 2\n+b: 3\n"
        );
        assert_eq!(unified("a\n", "a\n", "x", Paint::new(When::Always)), "");
    }

    #[test]
    fn a_secret_that_changes_shows_that_it_does_and_not_how() {
        let secret = |value: &str| json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": value, "b": "same"}});
        let (before, after) = hidden(&secret("b2xk"), &secret("bmV3"));
        assert_eq!(before["data"], json!({"a": "*** (before)", "b": "***"}));
        assert_eq!(after["data"], json!({"a": "*** (after)", "b": "***"}));
    }
}
