//! The fields of a service, one function for each that has more than a text.

use std::collections::BTreeMap;
use std::path::Path;

use landform_api::duration;
use serde_json::Value;

use super::line;
use super::read::{Reader, object_name, unknown};
use super::service::{Found, Health, Mounted, Restart, Service};
use super::shared;
use super::source::{Weight, below, read_text};
use super::variables::assignments;

/// The signals that the process deployer sends.
const SIGNALS: [&str; 6] = ["TERM", "INT", "QUIT", "HUP", "USR1", "USR2"];

impl Reader<'_> {
    /// A command as a list, or as a line.
    pub(super) fn words(&self, pointer: &str, value: &Value) -> Vec<String> {
        if let Value::String(text) = value {
            return line::words(text).unwrap_or_else(|| {
                self.source.wrong(pointer, "a quote is not closed");
                Vec::new()
            });
        }
        let words = self.source.list(pointer, Some(value)).into_iter();
        let words = words.filter_map(|(pointer, word)| self.source.text(&pointer, Some(word)));
        words.collect()
    }

    pub(super) fn environment(&self, pointer: &str, value: &Value, service: &mut Service) {
        let pairs: Vec<_> = if value.is_array() {
            let lines = self.source.list(pointer, Some(value)).into_iter();
            lines
                .filter_map(|(pointer, line)| {
                    let line = self.source.text(&pointer, Some(line))?;
                    Some(match line.split_once('=') {
                        Some((name, value)) => (pointer, name.to_owned(), Some(value.to_owned())),
                        None => (pointer, line, None),
                    })
                })
                .collect()
        } else {
            let fields = self.source.map(pointer, Some(value)).into_iter();
            fields
                .map(|(name, pointer, value)| {
                    let text = self.source.text(&pointer, Some(value));
                    (pointer, name.to_owned(), text)
                })
                .collect()
        };
        for (pointer, name, value) in pairs {
            if let Some(value) = value {
                // What stands here counts more than files.
                service.environment.insert(name, value);
            } else {
                let text = format!(
                    "the variable {name} comes from the shell there: write its value into {}.yaml",
                    service.name
                );
                self.note(Weight::ToDo, &pointer, &text);
            }
        }
    }

    pub(super) fn env_files(&self, pointer: &str, value: &Value, service: &mut Service) {
        let mut together = BTreeMap::new();
        for (pointer, entry) in self.source.list(pointer, Some(value)) {
            let path = if entry.is_object() {
                entry.get("path")
            } else {
                Some(entry)
            };
            let Some(path) = self.source.text(&pointer, path) else {
                continue;
            };
            let optional = entry.get("required") == Some(&Value::Bool(false));
            let file = shared::local(self.directory, &path);
            match read_text(&file) {
                Ok(text) => {
                    together.extend(assignments(&text));
                    let text = format!(
                        "the variables of {path} were copied into {}.yaml: move what is secret into a Secret",
                        service.name
                    );
                    self.note(Weight::Differs, &pointer, &text);
                }
                Err(_) if optional && !file.exists() => {}
                Err(error) => self.source.wrong(&pointer, error.to_string()),
            }
        }
        for (name, value) in together {
            service.environment.entry(name).or_insert(value);
        }
    }

    pub(super) fn ports(&self, pointer: &str, value: &Value, service: &mut Service) {
        for (pointer, entry) in self.source.list(pointer, Some(value)) {
            let (published, target) = if entry.is_object() {
                let protocol = entry.get("protocol").and_then(Value::as_str);
                let target = self.source.text(&pointer, entry.get("target"));
                let protocol = protocol.map(|protocol| format!("/{protocol}"));
                let target = target.unwrap_or_default() + &protocol.unwrap_or_default();
                (
                    self.source.text(&pointer, entry.get("published")),
                    Some(target),
                )
            } else {
                let text = self.source.text(&pointer, Some(entry)).unwrap_or_default();
                let mut parts = text.rsplit(':');
                let target = parts.next().map(ToOwned::to_owned);
                (parts.next().map(ToOwned::to_owned), target)
            };
            let target = target.unwrap_or_default();
            let (number, protocol) = target.split_once('/').unwrap_or((&target, "tcp"));
            let Ok(port) = number.parse::<u16>() else {
                let text = format!("the port {number:?} is no single number, and was left out");
                self.note(Weight::ToDo, &pointer, &text);
                continue;
            };
            if protocol != "tcp" {
                let text = format!("the port {port} is not of TCP: nothing is probed there");
                self.note(Weight::NoEffect, &pointer, &text);
                continue;
            }
            if let Some(published) = published.filter(|published| *published != number) {
                let text = format!(
                    "ports aren't mapped: the program listens on {port} itself, and not on {published}"
                );
                self.note(Weight::ToDo, &pointer, &text);
            }
            if !service.ports.contains(&port) {
                service.ports.push(port);
            }
        }
    }

    pub(super) fn needs(&self, pointer: &str, value: &Value, service: &mut Service) {
        let entries: Vec<_> = if value.is_object() {
            let fields = self.source.map(pointer, Some(value)).into_iter();
            fields
                .map(|(name, pointer, how)| {
                    let ended = how.get("condition").and_then(Value::as_str)
                        == Some("service_completed_successfully");
                    (name.to_owned(), pointer, ended)
                })
                .collect()
        } else {
            let items = self.source.list(pointer, Some(value)).into_iter();
            let items = items.filter_map(|(pointer, item)| {
                Some((self.source.text(&pointer, Some(item))?, pointer, false))
            });
            items.collect()
        };
        for (name, pointer, ended) in entries {
            match self.names.get(&name) {
                Some(name) => {
                    service.needs.push(name.clone());
                    if ended {
                        service.needs_end.push(name.clone());
                    }
                }
                None => {
                    let text = format!("there is no service {name}");
                    self.source.wrong(&pointer, text);
                }
            }
        }
    }

    pub(super) fn health(&self, pointer: &str, value: &Value) -> Option<Health> {
        if value.get("disable") == Some(&Value::Bool(true)) {
            return None;
        }
        let test = below(pointer, "test");
        let mut command = match value.get("test") {
            Some(Value::String(line)) => vec!["CMD-SHELL".to_owned(), line.clone()],
            Some(list) => self.words(&test, list),
            None => Vec::new(),
        };
        if command.is_empty() || command[0] == "NONE" {
            return None;
        }
        let form = command.remove(0);
        match form.as_str() {
            "CMD" => {}
            "CMD-SHELL" => command
                .splice(0..0, ["sh".to_owned(), "-c".to_owned()])
                .for_each(drop),
            _ => {
                let text = "a list must begin with CMD, CMD-SHELL or NONE";
                self.source.wrong(&test, text);
                return None;
            }
        }
        let time = |name: &str| {
            let value = value.get(name)?;
            self.time(&below(pointer, name), value)
        };
        let seconds = |name: &str, default| {
            let length = time(name).and_then(|time| duration::parse(&time));
            length.map_or(default, |length| length.as_secs().max(1))
        };
        let retries = value.get("retries").and_then(Value::as_u64).unwrap_or(3);
        let timeout = seconds("start_period", 0) + (retries + 1) * seconds("interval", 30);
        for (name, pointer, _) in self.source.map(pointer, Some(value)) {
            match name {
                "test" | "interval" | "retries" | "start_period" | "disable" => {}
                "timeout" | "start_interval" => {
                    let text = format!("`{name}`: one look has 5 seconds here");
                    self.note(Weight::Differs, &pointer, &text);
                }
                _ => unknown(self.source, &pointer, name),
            }
        }
        Some(Health {
            command,
            interval: time("interval"),
            timeout_seconds: timeout.max(60),
        })
    }

    pub(super) fn restart(&self, pointer: &str, value: &Value) -> Restart {
        let text = self.source.text(pointer, Some(value)).unwrap_or_default();
        let (policy, most) = text.split_once(':').unwrap_or((&text, ""));
        match policy {
            "no" | "false" => Restart::Never,
            "always" | "unless-stopped" => Restart::Always,
            "on-failure" => Restart::OnFailure {
                most: most.parse().ok(),
            },
            _ => {
                let text = "this must be no, always, on-failure or unless-stopped";
                self.source.wrong(pointer, text);
                Restart::Never
            }
        }
    }

    pub(super) fn mounted(&self, pointer: &str, value: &Value, kind: &str) -> Vec<Mounted> {
        let entries = self.source.list(pointer, Some(value)).into_iter();
        let mounted = entries.filter_map(|(pointer, entry)| {
            let source = if entry.is_object() {
                entry.get("source")
            } else {
                Some(entry)
            };
            let name = self.source.text(&pointer, source)?;
            let target = self.source.text(&pointer, entry.get("target"));
            let target = target.unwrap_or_else(|| name.clone());
            let file = Path::new(&target).file_name()?;
            let file = format!("{kind}/{}", file.to_string_lossy());
            let text = format!("it is the file {file} in the program's own directory, and not {target} in a container");
            self.note(Weight::Differs, &pointer, &text);
            Some(Mounted { source: name, file })
        });
        mounted.collect()
    }

    pub(super) fn user(&self, pointer: &str, value: &Value) -> Option<String> {
        let user = self.source.text(pointer, Some(value))?;
        let text = format!(
            "Landform must run as root to start programs as {user}; without that, remove `user` from the blueprint"
        );
        self.note(Weight::ToDo, pointer, &text);
        let name = user.split(':').next().unwrap_or(&user);
        (!name.is_empty()).then(|| name.to_owned())
    }

    pub(super) fn signal(&self, pointer: &str, value: &Value) -> Option<String> {
        let signal = self.source.text(pointer, Some(value))?;
        let name = signal.trim_start_matches("SIG").to_uppercase();
        if SIGNALS.contains(&name.as_str()) {
            return Some(name);
        }
        let text = format!("the signal {signal} can't be sent: TERM is");
        self.note(Weight::Differs, pointer, &text);
        None
    }

    pub(super) fn time(&self, pointer: &str, value: &Value) -> Option<String> {
        let text = self.source.text(pointer, Some(value))?;
        if duration::parse(&text).is_none() {
            self.source
                .wrong(pointer, "this must be a time such as 500ms, 10s or 1m30s");
            return None;
        }
        Some(text)
    }

    pub(super) fn profiles(
        &self,
        pointer: &str,
        value: &Value,
        service: &mut Service,
        found: &mut Found,
    ) {
        for (pointer, profile) in self.source.list(pointer, Some(value)) {
            let Some(profile) = self.source.text(&pointer, Some(profile)) else {
                continue;
            };
            let profile = object_name(&profile);
            let text = format!("it is deployed when `profiles.{profile}` is true in landform.yaml");
            self.note(Weight::Differs, &pointer, &text);
            if !found.profiles.contains(&profile) {
                found.profiles.push(profile.clone());
            }
            service.profiles.push(profile);
        }
    }
}
