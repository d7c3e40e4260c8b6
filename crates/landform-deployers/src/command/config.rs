//! What a deploy item of type `landform.dev/command` says, as `docs/deployers/command.md` describes it.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::local::{Field, Files, Hidden, read_command, read_environment, read_files, read_user};
use crate::{DeployError, ResolvedTarget};

/// All that a run needs. It is kept on disk for the removal, when the item may say something else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Configuration {
    /// The program and its arguments.
    pub(crate) command: Hidden<Vec<String>>,
    pub(crate) environment: Hidden<BTreeMap<String, String>>,
    pub(crate) files: Files,
    pub(crate) import_values: Hidden<Value>,
    /// How long a run may take at most.
    pub(crate) timeout: Option<Duration>,
    /// Where to deploy to, as far as the item has a target.
    pub(crate) target: Option<Hidden<Value>>,
    /// The user of the system that it runs as; none: Landform's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) user: Option<String>,
}

/// Variables that tell a command what to do.
pub(crate) const OPERATION: &str = "OPERATION";
pub(crate) const IMPORTS_PATH: &str = "IMPORTS_PATH";
pub(crate) const EXPORTS_PATH: &str = "EXPORTS_PATH";
pub(crate) const STATE_PATH: &str = "STATE_PATH";
pub(crate) const CONTENT_PATH: &str = "CONTENT_PATH";
pub(crate) const TARGET_PATH: &str = "TARGET_PATH";

impl Configuration {
    /// Reads it, or says which field is wrong.
    pub(crate) fn read(
        value: Option<&Value>,
        target: Option<&ResolvedTarget>,
    ) -> Result<Self, DeployError> {
        let root = Field::root(value.unwrap_or(&Value::Null));
        root.only(&[
            "command",
            "args",
            "env",
            "importValues",
            "files",
            "timeout",
            "user",
        ])?;
        let environment = root.get("env");
        let reserved = [
            OPERATION,
            IMPORTS_PATH,
            EXPORTS_PATH,
            STATE_PATH,
            CONTENT_PATH,
            TARGET_PATH,
        ];
        for (name, field) in environment
            .iter()
            .map(Field::entries)
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .flatten()
        {
            if reserved.contains(&name) {
                return Err(field.problem("is set by Landform"));
            }
        }
        let import_values = root.get("importValues");
        if let Some(field) = &import_values {
            field.entries()?;
        }
        Ok(Self {
            command: read_command(&root)?,
            environment: read_environment(environment)?,
            files: read_files(root.get("files"))?,
            import_values: Hidden(import_values.map_or_else(
                || Value::Object(serde_json::Map::new()),
                |field| field.value().clone(),
            )),
            timeout: root
                .get("timeout")
                .map(|field| field.duration())
                .transpose()?,
            target: target.map(describe),
            user: read_user(root.get("user"))?,
        })
    }

    /// The same with the target as it is now, if it can be found.
    pub(crate) fn with_target(self, target: Option<&ResolvedTarget>) -> Self {
        let target = target.map(describe).or(self.target);
        Self { target, ..self }
    }

    /// Everything that was given and may be secret.
    pub(crate) fn secrets(&self) -> Vec<&str> {
        let mut secrets: Vec<&str> = self.environment.values().map(String::as_str).collect();
        // The program's own name is none.
        secrets.extend(self.command.iter().skip(1).map(String::as_str));
        secrets.extend(self.files.values().map(|file| file.content.as_str()));
        collect(&self.import_values, &mut secrets);
        if let Some(target) = &self.target {
            collect(&target["spec"], &mut secrets);
        }
        secrets
    }
}

fn describe(target: &ResolvedTarget) -> Hidden<Value> {
    Hidden(serde_json::json!({
        "metadata": {"name": target.name},
        "spec": {"type": target.spec.kind, "config": target.spec.configuration},
    }))
}

/// All strings in a value.
fn collect<'a>(value: &'a Value, strings: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => strings.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect(item, strings)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, strings)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn wrong_fields_are_named() {
        for (value, problem) in [
            (json!({}), "config: command is missing"),
            (json!({"command": "x"}), "config.command: must be a list"),
            (
                json!({"command": ["x"], "image": "y"}),
                "config.image: unknown field; there are ",
            ),
            (
                json!({"command": ["x"], "importValues": ["canary"]}),
                "config.importValues: must be an object",
            ),
            (
                json!({"command": ["x"], "env": {"STATE_PATH": "canary"}}),
                "config.env.STATE_PATH: is set by Landform",
            ),
            (
                json!({"command": ["x"], "timeout": 5}),
                "config.timeout: must be a length of time",
            ),
        ] {
            let error = Configuration::read(Some(&value), None).unwrap_err();
            assert!(
                error.message.starts_with(problem),
                "{} / {problem}",
                error.message
            );
            assert!(!error.message.contains("canary"));
        }
    }

    #[test]
    fn nothing_secret_is_printed() {
        let value = json!({
            "command": ["x", "canary"], "args": ["canary"], "env": {"A": "canary"},
            "importValues": {"a": ["canary"]}, "files": {"a": "canary"},
        });
        let read = Configuration::read(Some(&value), None).unwrap();
        assert!(!format!("{read:?}").contains("canary"));
        assert_eq!(read.secrets(), ["canary"; 5]);
    }
}
