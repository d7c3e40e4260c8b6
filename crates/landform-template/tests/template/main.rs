//! Templates as users write them, with what they give.

mod errors;
mod language;
mod library;
mod limits;
mod numbers;
mod properties;
mod structures;

use landform_template::{Environment, Template, TemplateError};
use serde_json::{Value, json};

/// The data of all tables.
fn data() -> Value {
    json!({
        "name": "ada",
        "count": 3,
        "ratio": 1.5,
        "yes": true,
        "no": false,
        "nothing": null,
        "empty": "",
        "list": [1, 2, 3],
        "words": ["b", "a", "c"],
        "map": {"b": 2, "a": 1, "c": {"d": "deep"}},
        "items": [{"name": "x", "on": true}, {"name": "y", "on": false}],
    })
}

fn environment() -> Environment {
    // 2009-11-10 23:00:00 UTC, a Tuesday.
    let now = time::OffsetDateTime::UNIX_EPOCH + time::Duration::seconds(1_257_894_000);
    Environment::default().with_now(now)
}

fn render(text: &str) -> Result<String, TemplateError> {
    Template::parse("test", text)?.render(&data(), &environment())
}

/// Renders each template and compares; all differences are shown at once.
fn check(table: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (text, expected) in table {
        match render(text) {
            Ok(output) if output == *expected => {}
            Ok(output) => wrong.push(format!("{text}\n  gives {output:?}\n  not   {expected:?}")),
            Err(error) => wrong.push(format!("{text}\n  fails: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each template has to fail with a message that holds the text.
fn check_errors(table: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (text, expected) in table {
        match render(text) {
            Ok(output) => wrong.push(format!("{text}\n  gives {output:?}")),
            Err(error) if error.message.contains(expected) => {}
            Err(error) => wrong.push(format!("{text}\n  says {:?}", error.message)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
