//! `landform explain`: what the fields of a kind mean, from the server's OpenAPI; of Landform's own kinds also without one.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;
use kube::Client;
use serde_json::{Value, json};

use super::schema::Schema;
use crate::client::kind::{Kind, Kinds};
use crate::client::{ClientArgs, block_on, get};
use crate::exit;
use crate::output::harmless::one_line;
use crate::{AnyError, say};

/// Text is broken after this column.
const WIDTH: usize = 80;
/// Fields within fields are shown so deep.
const DEEPEST: usize = 24;

const EXAMPLES: &str = "Examples:
  landform explain inst                       the kind and its fields
  landform explain inst.spec.blueprint        one field, and those in it
  landform explain deployitem --recursive     the names of all fields
  landform explain deploy --api-version=apps/v1

`landform api-resources` lists the kinds; `landform schema KIND` writes a schema for editors.";

/// Arguments of `landform explain`.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExplainArgs {
    /// The kind, and the field in it if one is meant.
    #[arg(value_name = "KIND[.FIELD…]")]
    what: String,
    /// The names of all fields, at any depth.
    #[arg(long)]
    recursive: bool,
    /// Of this group and version [default: the one that the server prefers].
    #[arg(long, value_name = "GROUP/VERSION")]
    api_version: Option<String>,
    #[command(flatten)]
    server: ClientArgs,
}

pub(crate) fn run(args: ExplainArgs) -> Result<ExitCode, AnyError> {
    block_on(async {
        let (kind, document, fields) = match from_server(&args).await {
            Ok(found) => found,
            Err(error) => match built_in(&args.what) {
                Some(found) => {
                    eprintln!(
                        "No server says so ({}): this is what the program itself knows.",
                        one_line(&error.to_string())
                    );
                    found
                }
                None => return Err(error),
            },
        };
        let schema = Schema::of_kind(&document, &kind.group, &kind.version, &kind.kind);
        let schema = schema.ok_or_else(|| {
            format!(
                "the server says nothing about the fields of {} {}",
                kind.api_version(),
                kind.kind
            )
        })?;
        say(&text(&kind, schema, &fields, args.recursive)?)?;
        Ok(exit::OK)
    })
}

type Found = (Kind, Value, Vec<String>);

async fn from_server(args: &ExplainArgs) -> Result<Found, AnyError> {
    let client = args.server.connect().await?;
    let kinds = Kinds::load(&client).await?;
    let (mut kind, fields) = split(&kinds, &args.what)?;
    if let Some(wanted) = &args.api_version {
        kind = kinds
            .of_manifest(wanted, &kind.kind)
            .ok_or_else(|| format!("the server doesn't have a kind {} in {wanted}", kind.kind))?;
    }
    let document = document(&client, &kind).await?;
    Ok((kind, document, fields))
}

/// `KIND.FIELD…` and `KIND.GROUP`: the longest beginning that is a kind.
fn split(kinds: &Kinds, what: &str) -> Result<(Kind, Vec<String>), AnyError> {
    let parts: Vec<&str> = what.split('.').filter(|part| !part.is_empty()).collect();
    let mut end = parts.len();
    while end > 0 {
        let word = parts.get(..end).unwrap_or_default().join(".");
        match kinds.find(&word) {
            Ok(kind) => {
                let fields = parts.get(end..).unwrap_or_default().iter();
                return Ok((kind, fields.map(|field| (*field).to_owned()).collect()));
            }
            // The first word alone is answered with what may have been meant.
            Err(error) if end == 1 => return Err(error),
            Err(_) => end -= 1,
        }
    }
    exit::misused("say which kind: KIND or KIND.FIELD")
}

async fn document(client: &Client, kind: &Kind) -> Result<Value, AnyError> {
    let index = get(client, "/openapi/v3").await?;
    let index = index.ok_or("the server has no OpenAPI v3, which says what fields mean")?;
    let path = if kind.group.is_empty() {
        format!("api/{}", kind.version)
    } else {
        format!("apis/{}/{}", kind.group, kind.version)
    };
    let address = index["paths"][&path]["serverRelativeURL"].as_str();
    let address = address.map_or_else(|| format!("/openapi/v3/{path}"), str::to_owned);
    let found = get(client, &address).await?;
    found.ok_or_else(|| {
        format!(
            "the server says nothing about the fields of {}",
            kind.api_version()
        )
        .into()
    })
}

/// A kind that Landform brings, as a document of its own.
fn built_in(what: &str) -> Option<Found> {
    let mut parts = what.split('.');
    let word = parts.next()?;
    let definition = crate::schema::definition_of(word)?;
    let spec = &definition["spec"];
    let version = spec["versions"].as_array()?.first()?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let kind = Kind {
        group: text(&spec["group"]),
        version: text(&version["name"]),
        kind: text(&spec["names"]["kind"]),
        plural: text(&spec["names"]["plural"]),
        singular: text(&spec["names"]["singular"]),
        short_names: Vec::new(),
        namespaced: spec["scope"] == "Namespaced",
    };
    let mut schema = version["schema"]["openAPIV3Schema"].clone();
    schema["x-kubernetes-group-version-kind"] =
        json!([{"group": kind.group, "version": kind.version, "kind": kind.kind}]);
    let document = json!({"components": {"schemas": {"it": schema}}});
    Some((kind, document, parts.map(str::to_owned).collect()))
}

fn text(
    kind: &Kind,
    top: Schema<'_>,
    fields: &[String],
    recursive: bool,
) -> Result<String, AnyError> {
    let mut schema = top;
    let mut required = false;
    for (at, name) in fields.iter().enumerate() {
        let below = schema.fields();
        let found = below.iter().find(|(known, ..)| known == name);
        let Some((_, is_required, found)) = found else {
            let before = fields.get(..at).unwrap_or_default().join(".");
            let place = if before.is_empty() {
                kind.kind.clone()
            } else {
                before
            };
            let names: Vec<_> = below.iter().map(|(name, ..)| *name).collect();
            let names = if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            };
            return Err(format!("{place} has no field {name:?}; it has {names}").into());
        };
        (schema, required) = (*found, *is_required);
    }
    let mut out = String::new();
    if !kind.group.is_empty() {
        let _ = writeln!(out, "GROUP:      {}", kind.group);
    }
    let _ = writeln!(
        out,
        "KIND:       {}\nVERSION:    {}\n",
        kind.kind, kind.version
    );
    if let Some(name) = fields.last() {
        let required = if required { " -required-" } else { "" };
        let _ = writeln!(out, "FIELD: {name} <{}>{required}\n", schema.type_name());
        out.push_str(&values(schema, 0));
    }
    if !fields.is_empty() {
        out.push('\n');
    }
    out.push_str("DESCRIPTION:\n");
    out.push_str(&broken(schema.description(), 4));
    if let Some(more) = schema.description_of_type() {
        out.push_str(&broken(more, 4));
    }
    let below = schema.fields();
    if !below.is_empty() {
        out.push_str("\nFIELDS:\n");
        if recursive {
            names(&mut out, schema, 2, &mut Vec::new());
        } else {
            for (name, required, field) in below {
                out.push_str(&field_line(name, required, field, 2));
                out.push_str(&values(field, 2));
                out.push_str(&broken(field.description(), 4));
                out.push('\n');
            }
        }
    }
    let end = out.trim_end().len();
    out.truncate(end);
    out.push('\n');
    Ok(out)
}

fn field_line(name: &str, required: bool, field: Schema<'_>, indent: usize) -> String {
    let required = if required { " -required-" } else { "" };
    format!("{:indent$}{name}\t<{}>{required}\n", "", field.type_name())
}

fn values(schema: Schema<'_>, indent: usize) -> String {
    let mut out = String::new();
    let values = schema.values();
    if !values.is_empty() {
        let _ = writeln!(out, "{:indent$}enum: {}", "", values.join(", "));
    }
    if let Some(found) = schema.default_value() {
        let _ = writeln!(out, "{:indent$}default: {found}", "");
    }
    out
}

/// The names of all fields. One that leads back to itself is shown once.
fn names(out: &mut String, schema: Schema<'_>, indent: usize, above: &mut Vec<*const Value>) {
    if above.len() > DEEPEST || above.contains(&schema.identity()) {
        return;
    }
    above.push(schema.identity());
    for (name, required, field) in schema.fields() {
        out.push_str(&field_line(name, required, field, indent));
        out.push_str(&values(field, indent));
        names(out, field, indent + 2, above);
    }
    above.pop();
}

/// A text in lines, indented. Its own paragraphs stay.
fn broken(text: &str, indent: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut column = 0;
        for word in line.split_whitespace() {
            let length = word.chars().count();
            if column > 0 && indent + column + 1 + length > WIDTH {
                out.push('\n');
                column = 0;
            }
            if column == 0 {
                out.push_str(&" ".repeat(indent));
            } else {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            column += length;
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_landform_is_explained_without_a_server() {
        let (kind, document, fields) = built_in("inst.spec").unwrap();
        let schema = Schema::of_kind(&document, &kind.group, &kind.version, &kind.kind).unwrap();
        let found = text(&kind, schema, &fields, false).unwrap();
        assert!(found.contains("KIND:       Installation\n"), "{found}");
        assert!(found.contains("FIELD: spec <Object>"), "{found}");
        assert!(found.contains("  blueprint\t<"), "{found}");
        let all = text(&kind, schema, &[], true).unwrap();
        assert!(all.contains("  spec\t<"), "{all}");
        let error = text(&kind, schema, &["spce".to_owned()], false).unwrap_err();
        assert!(
            error.to_string().contains("it has apiVersion") || error.to_string().contains("spec"),
            "{error}"
        );
        assert!(built_in("shop").is_none());
    }

    #[test]
    fn types_are_named_as_kubectl_names_them() {
        let document = json!({"components": {"schemas": {
            "io.k8s.ObjectMeta": {"type": "object", "description": "of the type", "properties": {"name": {"type": "string"}}},
            "io.k8s.Loop": {"type": "object", "properties": {"again": {"$ref": "#/components/schemas/io.k8s.Loop"}}},
        }}});
        let reference = json!({"$ref": "#/components/schemas/io.k8s.ObjectMeta"});
        for (at, expected) in [
            (json!({"type": "string"}), "string"),
            (json!({"type": "integer", "format": "int32"}), "integer"),
            (
                json!({"type": "array", "items": {"type": "string"}}),
                "[]string",
            ),
            (
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
                "map[string]string",
            ),
            (reference.clone(), "ObjectMeta"),
            (
                json!({"allOf": [reference], "description": "here"}),
                "ObjectMeta",
            ),
            (json!({"type": "array", "items": reference}), "[]ObjectMeta"),
            (json!({"x-kubernetes-int-or-string": true}), "IntOrString"),
            (json!({"type": "object"}), "Object"),
        ] {
            assert_eq!(Schema::new(&document, &at).type_name(), expected, "{at}");
        }
        let at = json!({"allOf": [reference], "description": "here"});
        let schema = Schema::new(&document, &at);
        assert_eq!(schema.description(), "here");
        assert_eq!(schema.description_of_type(), Some("of the type"));
        assert_eq!(schema.fields()[0].0, "name");
        let circle = json!({"$ref": "#/components/schemas/io.k8s.Loop"});
        let mut out = String::new();
        names(
            &mut out,
            Schema::new(&document, &circle),
            0,
            &mut Vec::new(),
        );
        assert_eq!(out, "again\t<Loop>\n");
    }

    #[test]
    fn text_is_broken_between_words() {
        let found = broken(&"word ".repeat(30), 4);
        assert!(
            found
                .lines()
                .all(|line| line.len() <= WIDTH && line.starts_with("    word"))
        );
        assert_eq!(found.lines().count(), 2);
    }
}
