//! Texts with JSONPath in braces, as kubectl has them: `{range .items[*]}{.metadata.name}{"\n"}{end}`.

use landform_api::jsonpath::JsonPath;
use serde_json::Value;

/// Ranges may be nested so deep.
const DEEPEST: usize = 32;

/// A path that may have several names or indexes in one bracket, which [`JsonPath`] hasn't.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Path {
    /// Whether it begins at the top, whatever range it stands in.
    from_top: bool,
    /// One after the other; the paths of a stage each from what the stage before has found.
    stages: Vec<Vec<JsonPath>>,
}

impl Path {
    /// Reads a path without braces: `.a.b`, `a.b`, `@.a`, `$.a`, `.a['b','c.d']`, `.a[0,2]`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (from_top, rest) = match text.strip_prefix('$') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('@').unwrap_or(text)),
        };
        let read = |part: &str| {
            let part = if part.is_empty() { "." } else { part };
            JsonPath::parse(part).map_err(|error| format!("{text:?} is no path: {error}"))
        };
        let mut stages = Vec::new();
        let mut rest = rest.to_owned();
        while let Some((start, end, choices)) = union(&rest) {
            if start > 0 {
                stages.push(vec![read(&rest[..start])?]);
            }
            let choices = choices.iter().map(|choice| match choice.as_bytes() {
                [b'\'' | b'"', .., b'\'' | b'"'] => read(&choice[1..choice.len() - 1]),
                _ => read(&format!("[{choice}]")),
            });
            stages.push(choices.collect::<Result<_, _>>()?);
            rest = rest[end..].to_owned();
            if rest.is_empty() {
                return Ok(Self { from_top, stages });
            }
        }
        stages.push(vec![read(&rest)?]);
        Ok(Self { from_top, stages })
    }

    /// What it leads to, in the order of the document.
    pub(crate) fn find<'a>(&self, top: &'a Value, here: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![if self.from_top { top } else { here }];
        for stage in &self.stages {
            // As kubectl has it: the first choice of all, then the second of all.
            let choices = stage.iter();
            found = choices
                .flat_map(|path| found.iter().flat_map(|value| path.find(value)))
                .collect();
        }
        found
    }
}

/// The first bracket with several things in it: where it begins and ends, and what is in it.
fn union(text: &str) -> Option<(usize, usize, Vec<String>)> {
    let mut start = None;
    let mut quote = None;
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        let in_bracket = start.is_some();
        if escaped {
            escaped = false;
        } else if letter == '\\' {
            escaped = true;
        } else if let Some(open) = quote {
            if letter == open {
                quote = None;
            }
        } else {
            match letter {
                '\'' | '"' => quote = Some(letter),
                '[' => {
                    start = Some(at);
                    parts = vec![String::new()];
                    continue;
                }
                ']' => {
                    let is_filter = parts.first().is_some_and(|first| first.starts_with('?'));
                    if let (Some(start), true, false) = (start, parts.len() > 1, is_filter) {
                        let parts = parts.iter().map(|part| part.trim().to_owned());
                        return Some((start, at + 1, parts.collect()));
                    }
                    start = None;
                    continue;
                }
                ',' if in_bracket => {
                    parts.push(String::new());
                    continue;
                }
                _ => {}
            }
        }
        if in_bracket && let Some(part) = parts.last_mut() {
            part.push(letter);
        }
    }
    None
}

/// A piece of a text.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Text(String),
    Value(Path),
    Range(Path, Vec<Piece>),
}

/// A whole text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text(Vec<Piece>);

impl Text {
    /// Reads a text. One without any braces is a path.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        if !text.contains('{') {
            return Ok(Self(vec![Piece::Value(Path::parse(text)?)]));
        }
        let mut rest = text;
        let pieces = pieces(&mut rest, 0)?;
        Ok(Self(pieces))
    }

    /// The text with what is found.
    pub(crate) fn print(&self, value: &Value) -> String {
        let mut out = String::new();
        print(&self.0, value, value, &mut out);
        out
    }

    /// All values, as one list.
    pub(crate) fn values(&self, value: &Value) -> Value {
        let mut found = Vec::new();
        collect(&self.0, value, value, &mut found);
        Value::Array(found.into_iter().cloned().collect())
    }
}

/// Reads pieces until the end of the text or of the range.
fn pieces(rest: &mut &str, depth: usize) -> Result<Vec<Piece>, String> {
    if depth > DEEPEST {
        return Err(format!("ranges are nested more than {DEEPEST} deep"));
    }
    let mut found = Vec::new();
    loop {
        let Some(open) = rest.find('{') else {
            if depth > 0 {
                return Err("a range has no {end}".to_owned());
            }
            if !rest.is_empty() {
                found.push(Piece::Text((*rest).to_owned()));
            }
            *rest = "";
            return Ok(found);
        };
        if open > 0 {
            found.push(Piece::Text(rest[..open].to_owned()));
        }
        let inside = &rest[open + 1..];
        let close = closing(inside)
            .ok_or_else(|| format!("the brace in {:?} is not closed", &rest[open..]))?;
        let action = inside[..close].trim();
        *rest = &inside[close + 1..];
        match action {
            "end" if depth > 0 => return Ok(found),
            "end" => return Err("there is an {end} without a {range …}".to_owned()),
            _ => {}
        }
        if let Some(path) = action.strip_prefix("range ") {
            let path = Path::parse(path)?;
            found.push(Piece::Range(path, pieces(rest, depth + 1)?));
        } else if action.starts_with(['"', '\'']) {
            found.push(Piece::Text(unquoted(action)?));
        } else {
            found.push(Piece::Value(Path::parse(action)?));
        }
    }
}

/// Where the brace of an action is closed: not within quotes.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut escaped = false;
    for (at, letter) in text.char_indices() {
        if escaped {
            escaped = false;
            continue;
        }
        match (letter, quote) {
            ('\\', _) => escaped = true,
            ('}', None) => return Some(at),
            ('\'' | '"', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            _ => {}
        }
    }
    None
}

fn unquoted(text: &str) -> Result<String, String> {
    let mut letters = text.chars();
    let quote = letters.next();
    let mut out = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => out.push(match letters.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some(other) => other,
                None => return Err(format!("{text} ends within an escape")),
            }),
            letter if Some(letter) == quote => {
                return if letters.as_str().is_empty() {
                    Ok(out)
                } else {
                    Err(format!("after the text {text} something else follows"))
                };
            }
            letter => out.push(letter),
        }
    }
    Err(format!("the quote of {text} is not closed"))
}

fn print(pieces: &[Piece], top: &Value, here: &Value, out: &mut String) {
    for piece in pieces {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Value(path) => {
                let found = path.find(top, here).into_iter().map(plain);
                out.push_str(&found.collect::<Vec<_>>().join(" "));
            }
            Piece::Range(path, inner) => {
                for value in path.find(top, here) {
                    print(inner, top, value, out);
                }
            }
        }
    }
}

fn collect<'a>(pieces: &[Piece], top: &'a Value, here: &'a Value, out: &mut Vec<&'a Value>) {
    for piece in pieces {
        match piece {
            Piece::Text(_) => {}
            Piece::Value(path) => out.extend(path.find(top, here)),
            Piece::Range(path, inner) => {
                for value in path.find(top, here) {
                    collect(inner, top, value, out);
                }
            }
        }
    }
}

/// A text as it is, anything else as JSON.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn printed(text: &str) -> String {
        let value = json!({"kind": "List", "items": [
            {"metadata": {"name": "a"}, "data": {"k": "1", "l": "x"}, "n": [1, 2, 3]},
            {"metadata": {"name": "b"}, "data": {"k": "2"}, "n": []},
        ]});
        Text::parse(text).unwrap().print(&value)
    }

    #[test]
    fn texts_are_printed_as_kubectl_prints_them() {
        for (text, expected) in [
            ("{.kind}", "List"),
            ("kind", "List"),
            (".items[*].metadata.name", "a b"),
            ("{.items[0].data}", r#"{"k":"1","l":"x"}"#),
            ("{.absent}", ""),
            ("names: {.items[*].metadata.name}.", "names: a b."),
            (
                r#"{range .items[*]}{.metadata.name}{"\t"}{.data.k}{"\n"}{end}"#,
                "a\t1\nb\t2\n",
            ),
            (
                "{range .items[*]}{@.metadata.name}:{$.kind},{end}",
                "a:List,b:List,",
            ),
            ("{range .items[*]}[{range .n[*]}{@}{end}]{end}", "[123][]"),
            ("{.items[0].n[0,2]}", "1 3"),
            ("{.items[*]['metadata.name', 'data.k']}", "a b 1 2"),
            (r#"{.items[?(@.data.k=="2")].metadata.name}"#, "b"),
            (r#"{"a}b"}{'c'}"#, "a}bc"),
        ] {
            assert_eq!(printed(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        for text in [
            "{.a",
            "{end}",
            "{range .a}",
            "{.a[}",
            r#"{"a"#,
            r#"{"a"b}"#,
            "{.a['b','c d']}",
        ] {
            assert!(Text::parse(text).is_err(), "{text}");
        }
        let deep = "{range .a}".repeat(100);
        assert!(Text::parse(&deep).is_err());
    }

    #[test]
    fn values_are_one_list() {
        let value = json!({"a": [1, {"b": 2}]});
        let found = Text::parse("{.a[*]}").unwrap().values(&value);
        assert_eq!(found, json!([1, {"b": 2}]));
    }
}
