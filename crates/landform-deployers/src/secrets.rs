//! Texts that must not be shown: in what a command wrote, and in messages.

use serde_json::Value;

/// Shorter values are words that stand everywhere.
const SHORTEST_SECRET: usize = 4;
/// A longer secret is looked for by its lines and its beginning.
const LONGEST_SECRET: usize = 16 << 10;
/// What stands in the place of a secret in a message, as in configurations.
const HIDDEN: &str = "(secret)";

/// Texts that must not be shown.
#[derive(Default)]
pub(crate) struct Secrets(Vec<Vec<u8>>);

impl Secrets {
    /// These values, each of their lines, what they assign, and how JSON and messages write them.
    pub(crate) fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        let mut secrets = Vec::new();
        for value in values {
            secrets.push(value.trim().to_owned());
            for line in value.lines() {
                secrets.push(line.trim().to_owned());
                // `password = "…"`, `password: …`
                let assigned = line.split_once(['=', ':']).map(|(_, assigned)| assigned);
                let quotes = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | ';');
                secrets.extend(assigned.map(|assigned| assigned.trim_matches(quotes).to_owned()));
            }
            if let Ok(escaped) = serde_json::to_string(value) {
                secrets.push(escaped.trim_matches('"').to_owned());
            }
            secrets.push(format!("{value:?}").trim_matches('"').to_owned());
        }
        let mut secrets: Vec<Vec<u8>> = secrets
            .into_iter()
            .map(String::into_bytes)
            .filter(|secret| secret.len() >= SHORTEST_SECRET)
            .map(|mut secret| {
                secret.truncate(LONGEST_SECRET);
                secret
            })
            .collect();
        // A secret that holds another one is taken out as a whole.
        secrets.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        secrets.dedup();
        Self(secrets)
    }

    pub(crate) fn longest(&self) -> usize {
        self.0.first().map_or(0, Vec::len)
    }

    /// The length of the secret that a text begins with.
    pub(crate) fn at(&self, text: &[u8]) -> Option<usize> {
        let found = self.0.iter().find(|secret| text.starts_with(secret));
        found.map(Vec::len)
    }

    /// What of a configuration is masked where it is shown.
    pub(crate) fn of_configuration(config: Option<&Value>, shown: Option<&Value>) -> Self {
        let Some(config) = config else {
            return Self::default();
        };
        let shown = shown.unwrap_or(&Value::Null);
        let mut found = Vec::new();
        collect(config, shown, shown.is_object(), &mut found);
        Self::new(found.iter().map(String::as_str))
    }

    /// A message without these texts.
    pub(crate) fn hide(&self, message: &str) -> String {
        if self.0.is_empty() {
            return message.to_owned();
        }
        let mut shown = Vec::new();
        let mut rest = message.as_bytes();
        while let Some((first, others)) = rest.split_first() {
            if let Some(length) = self.at(rest) {
                shown.extend_from_slice(HIDDEN.as_bytes());
                rest = rest.get(length..).unwrap_or_default();
            } else {
                shown.push(*first);
                rest = others;
            }
        }
        String::from_utf8_lossy(&shown).into_owned()
    }
}

/// The texts and numbers that are masked, and the names of fields in maps that are masked as a whole.
fn collect(value: &Value, shown: &Value, parts_are_shown: bool, found: &mut Vec<String>) {
    let nothing = Value::Null;
    match value {
        _ if value == shown => {}
        Value::String(text) => found.push(text.clone()),
        Value::Number(number) => found.push(number.to_string()),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                let shown = shown.get(at).unwrap_or(&nothing);
                collect(item, shown, parts_are_shown, found);
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                // When nothing of a configuration is shown most names are those that its deployer knows, and messages that
                // hide them help nobody.
                let is_word = name.bytes().all(|byte| byte.is_ascii_alphabetic());
                if shown.get(name).is_none() && (parts_are_shown || !is_word) {
                    found.push(name.clone());
                }
                let shown = shown.get(name).unwrap_or(&nothing);
                collect(value, shown, parts_are_shown, found);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_masked_of_a_configuration_is_hidden_in_messages() {
        let config = json!({"a": "plain-text", "b": ["canary-1", "x\"canary-2"], "c": {"canary-3": 1, "d": 4711}});
        let shown = json!({"a": "plain-text", "b": ["(secret)", "(secret)"], "c": "(secret)"});
        let secrets = Secrets::of_configuration(Some(&config), Some(&shown));
        let cases = [
            (
                "ConfigMap t/canary-1: plain-text",
                "ConfigMap t/(secret): plain-text",
            ),
            ("c.canary-3 is 4711", "c.(secret) is (secret)"),
            ("\"x\\\"canary-2\" é", "\"(secret)\" é"),
        ];
        for (message, expected) in cases {
            assert_eq!(secrets.hide(message), expected);
        }
        let whole = Secrets::of_configuration(
            Some(&json!({"manifests": [{"canary-4": "canary-5"}]})),
            Some(&json!("(secret)")),
        );
        assert_eq!(
            whole.hide("manifests[0].canary-4: canary-5"),
            "manifests[0].(secret): (secret)"
        );
        assert_eq!(
            Secrets::of_configuration(Some(&config), Some(&config)).hide("canary-1"),
            "canary-1"
        );
    }
}
