//! The forms that an answer can have: `-o json|yaml|wide|name|jsonpath=…|custom-columns=…|go-template=…`.

use clap::Args;
use landform_template::{Environment, Template};
use serde_json::Value;

use super::ColorArgs;
use super::color::{Paint, When};
use super::jsonpath::{Path, Text, plain};
use super::table::Table;
use crate::AnyError;

/// What `-o` takes.
const FORMS: &str = "json, yaml, wide, name, jsonpath=TEXT, jsonpath-as-json=TEXT, jsonpath-file=FILE, custom-columns=TITLE:PATH,…, custom-columns-file=FILE, go-template=TEXT or go-template-file=FILE";

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Format {
    /// The objects as JSON.
    Json,
    /// The objects as YAML.
    Yaml,
    /// A table with all columns.
    Wide,
    /// One KIND/NAME per line.
    Name,
    /// What the command line says. It lives as long as that.
    Made(&'static Maker),
}

/// Makes a text of an object or a list.
#[derive(Debug, PartialEq)]
pub(crate) enum Maker {
    JsonPath(Text),
    JsonPathAsJson(Text),
    Columns(Vec<(String, Path)>),
    Template(Template),
}

impl Format {
    /// Whether a text is made of whole objects.
    pub(crate) fn wants_objects(self) -> bool {
        match self {
            Self::Json | Self::Yaml | Self::Made(_) => true,
            Self::Wide | Self::Name => false,
        }
    }
}

impl Maker {
    pub(super) fn make(&self, value: &Value) -> Result<String, AnyError> {
        match self {
            Self::JsonPath(text) => Ok(text.print(value)),
            Self::JsonPathAsJson(text) => super::one(&text.values(value), Format::Json),
            Self::Columns(columns) => Ok(rows(columns, value)),
            Self::Template(template) => {
                let environment = Environment::default().with_now(super::time::now());
                let environment = environment.with_function("base64decode", decoded);
                let environment = environment.with_function("exists", exists);
                Ok(template.render(value, &environment)?)
            }
        }
    }
}

/// kubectl's name of the function.
fn decoded(arguments: &[Value]) -> Result<Value, String> {
    use base64::Engine as _;
    let [Value::String(text)] = arguments else {
        return Err("base64decode takes one text".to_owned());
    };
    let bytes = base64::engine::general_purpose::STANDARD.decode(text);
    let bytes = bytes.map_err(|_| "this is no base64".to_owned())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned().into())
}

/// kubectl's `exists VALUE KEY…`: whether a map has what a way of keys leads to.
fn exists(arguments: &[Value]) -> Result<Value, String> {
    let Some((first, keys)) = arguments.split_first() else {
        return Err("exists takes a value and keys".to_owned());
    };
    let mut value = first;
    for key in keys {
        let below = match key {
            Value::String(name) => value.get(name),
            Value::Number(at) => at
                .as_u64()
                .and_then(|at| value.get(usize::try_from(at).ok()?)),
            _ => None,
        };
        match below {
            Some(below) => value = below,
            None => return Ok(false.into()),
        }
    }
    Ok(true.into())
}

/// Rows of an object, or of each object of a list.
fn rows(columns: &[(String, Path)], value: &Value) -> String {
    let mut table = Table {
        titles: columns.iter().map(|(title, _)| title.clone()).collect(),
        ..Table::default()
    };
    let items: Vec<&Value> = match value["items"].as_array() {
        Some(items) => items.iter().collect(),
        None => vec![value],
    };
    for item in items {
        table.push(columns.iter().map(|(_, path)| {
            let found = path.find(item, item).into_iter();
            let found: Vec<_> = found.filter(|value| !value.is_null()).map(plain).collect();
            if found.is_empty() {
                "<none>".to_owned()
            } else {
                found.join(",")
            }
        }));
    }
    table.text(Paint::new(When::Never))
}

/// Reads what stands after `-o`.
pub(crate) fn format(text: &str) -> Result<Format, String> {
    let (form, rest) = match text.split_once('=') {
        Some((form, rest)) => (form, Some(rest)),
        None => (text, None),
    };
    let made = |maker: Maker| Ok(Format::Made(Box::leak(Box::new(maker))));
    let file = |file: &str| {
        std::fs::read_to_string(file).map_err(|error| format!("{file} can't be read: {error}"))
    };
    match (form, rest) {
        ("json", None) => Ok(Format::Json),
        ("yaml", None) => Ok(Format::Yaml),
        ("wide", None) => Ok(Format::Wide),
        ("name", None) => Ok(Format::Name),
        ("jsonpath", Some(text)) => made(Maker::JsonPath(Text::parse(text)?)),
        ("jsonpath-as-json", Some(text)) => made(Maker::JsonPathAsJson(Text::parse(text)?)),
        ("jsonpath-file", Some(path)) => {
            made(Maker::JsonPath(Text::parse(file(path)?.trim_end())?))
        }
        ("custom-columns", Some(text)) => made(Maker::Columns(columns(text)?)),
        ("custom-columns-file", Some(path)) => made(Maker::Columns(columns_of_file(&file(path)?)?)),
        ("go-template" | "template", Some(text)) => made(template("-o", text)?),
        ("go-template-file" | "templatefile", Some(path)) => made(template(path, &file(path)?)?),
        _ => Err(format!("write {FORMS}")),
    }
}

fn template(name: &str, text: &str) -> Result<Maker, String> {
    let template = Template::parse(name, text).map_err(|error| error.to_string())?;
    Ok(Maker::Template(template))
}

/// `TITLE:PATH,…`; a comma within brackets belongs to the path.
fn columns(text: &str) -> Result<Vec<(String, Path)>, String> {
    let (mut parts, mut depth) = (vec![String::new()], 0_usize);
    for letter in text.chars() {
        match letter {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    let columns = parts.iter().map(|part| match part.split_once(':') {
        Some((title, path)) if !title.is_empty() && !path.is_empty() => {
            Ok((title.to_owned(), Path::parse(unbraced(path))?))
        }
        _ => Err(format!(
            "{part:?} is no column: write TITLE:PATH, for instance NAME:.metadata.name"
        )),
    });
    columns.collect()
}

/// Titles in the first line, paths below them.
fn columns_of_file(text: &str) -> Result<Vec<(String, Path)>, String> {
    let mut lines = text.lines();
    let titles = lines.next().unwrap_or_default().split_whitespace();
    let paths = lines.next().unwrap_or_default().split_whitespace();
    let (titles, paths): (Vec<_>, Vec<_>) = (titles.collect(), paths.collect());
    if titles.is_empty() || titles.len() != paths.len() {
        return Err(
            "a file of columns has as many titles in its first line as paths in its second"
                .to_owned(),
        );
    }
    let columns = titles.into_iter().zip(paths);
    let columns = columns.map(|(title, path)| Ok((title.to_owned(), Path::parse(unbraced(path))?)));
    columns.collect()
}

/// A path without the braces around it.
pub(crate) fn unbraced(path: &str) -> &str {
    let path = path.trim();
    let inner = path
        .strip_prefix('{')
        .and_then(|path| path.strip_suffix('}'));
    inner.unwrap_or(path)
}

/// How objects are shown.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct OutputArgs {
    /// The form of the answer: json, yaml, wide, name, jsonpath=TEXT, custom-columns=TITLE:PATH,… or go-template=TEXT,
    /// the last three also from a file, as in go-template-file=FILE [default: a table].
    #[arg(short, long, value_parser = format, value_name = "FORM", help_heading = "Output")]
    output: Option<Format>,
    /// The same as -o json.
    #[arg(long, conflicts_with = "output", help_heading = "Output")]
    json: bool,
    #[command(flatten)]
    pub(crate) color: ColorArgs,
}

impl OutputArgs {
    /// The form; none for people.
    pub(crate) fn form(self) -> Option<Format> {
        if self.json {
            Some(Format::Json)
        } else {
            self.output
        }
    }
}

/// How a report is shown, which is one value and no list of objects.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct ReportArgs {
    /// The form of the answer for programs: json, yaml, jsonpath=TEXT or go-template=TEXT [default: a text for people].
    #[arg(short, long, value_parser = report, value_name = "FORM", help_heading = "Output")]
    output: Option<Format>,
    /// The same as -o json.
    #[arg(long, conflicts_with = "output", help_heading = "Output")]
    json: bool,
}

impl ReportArgs {
    /// The form; none for people.
    pub(crate) fn form(self) -> Option<Format> {
        if self.json {
            Some(Format::Json)
        } else {
            self.output
        }
    }
}

/// Reads the form of a report.
pub(crate) fn report(text: &str) -> Result<Format, String> {
    match format(text) {
        Ok(found @ (Format::Json | Format::Yaml)) => Ok(found),
        Ok(Format::Made(maker)) if !matches!(maker, Maker::Columns(_)) => Ok(Format::Made(maker)),
        Ok(_) => Err("a report can be json, yaml, jsonpath=TEXT or go-template=TEXT".to_owned()),
        Err(error) if text.contains('=') => Err(error),
        Err(_) => Err("write json, yaml, jsonpath=TEXT or go-template=TEXT".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn made(form: &str) -> String {
        let list = json!({"kind": "List", "items": [
            {"metadata": {"name": "a", "labels": {"x": "1"}}, "n": [1, 2]},
            {"metadata": {"name": "longer"}, "n": null},
        ]});
        let Ok(Format::Made(maker)) = format(form) else {
            panic!("{form}: {:?}", format(form));
        };
        maker.make(&list).unwrap()
    }

    #[test]
    fn each_form_makes_its_text() {
        for (form, expected) in [
            (
                "custom-columns=NAME:.metadata.name,X:{.metadata.labels.x},N:.n[0,1]",
                "NAME     X        N\na        1        1,2\nlonger   <none>   <none>\n",
            ),
            (
                "go-template={{range .items}}{{.metadata.name}};{{end}}",
                "a;longer;",
            ),
            (
                r#"go-template={{"aGk=" | base64decode}}{{exists . "items" 5}}"#,
                "hifalse",
            ),
            ("jsonpath={.items[*].metadata.name}", "a longer"),
            (
                "jsonpath-as-json={.items[0].n}",
                "[\n  [\n    1,\n    2\n  ]\n]\n",
            ),
        ] {
            assert_eq!(made(form), expected, "{form}");
        }
    }

    #[test]
    fn what_is_no_form_is_refused_with_the_forms() {
        for wrong in [
            "xml",
            "json=",
            "jsonpath",
            "jsonpath={",
            "custom-columns=A",
            "custom-columns-file=/no",
            "go-template={{",
            "wide=1",
        ] {
            assert!(format(wrong).is_err(), "{wrong}");
        }
        assert!(format("xml").unwrap_err().contains("custom-columns="));
        assert!(report("wide").is_err() && report("custom-columns=A:.a").is_err());
        assert_eq!(report("yaml"), Ok(Format::Yaml));
        let columns = columns_of_file("NAME KIND\n.metadata.name {.kind}\n").unwrap();
        assert_eq!(columns.len(), 2);
    }
}
