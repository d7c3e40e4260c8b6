//! Reads a Compose file: each field is taken over, noted, or wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::service::{Found, Service};
use super::shared;
use super::source::{Source, Weight, below};

/// Reads all services; what is wrong is in the source then.
pub(crate) fn read(source: &Source) -> Found {
    let mut found = Found::default();
    let fields = source.map("", Some(&source.value));
    if fields.iter().all(|(name, ..)| *name != "services") {
        source.wrong("", "there are no `services`: this is no Compose file");
    }
    let directory = source.directory();
    let own = directory
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    found.name = object_name(&own.unwrap_or_default());
    let mut services = Vec::new();
    for (name, pointer, value) in fields {
        match name {
            "services" => services = source.map(&pointer, Some(value)),
            "name" => {
                let given = source.text(&pointer, Some(value)).unwrap_or_default();
                found.name = object_name(&given);
            }
            "volumes" => found.volumes = shared::volumes(source, &pointer, value),
            "secrets" => found.secrets = shared::contents(source, &pointer, value),
            "configs" => found.configs = shared::contents(source, &pointer, value),
            "version" => source.note(Weight::NoEffect, &pointer, "`version` has no meaning"),
            "networks" => source.note(
                Weight::NoEffect,
                &pointer,
                "`networks`: programs share the network of this machine",
            ),
            "include" => source.note(
                Weight::ToDo,
                &pointer,
                "`include` is not followed: import the other files, too",
            ),
            _ if name.starts_with("x-") => source.note(
                Weight::NoEffect,
                &pointer,
                format!("`{name}` is an extension; what refers to it was taken over"),
            ),
            _ => unknown(source, &pointer, name),
        }
    }
    let names: BTreeMap<_, _> = services
        .iter()
        .map(|(name, ..)| ((*name).to_owned(), object_name(name)))
        .collect();
    for (name, pointer, value) in services {
        let taken = found.services.iter();
        if taken
            .map(|service| &service.name)
            .any(|taken| *taken == names[name])
        {
            let text = format!("two services would be called {}: rename one", names[name]);
            source.wrong(&pointer, text);
        }
        let reader = Reader {
            source,
            names: &names,
            called: name,
            directory: &directory,
        };
        let service = reader.service(&pointer, value, &mut found);
        found.services.push(service);
    }
    let ends: BTreeSet<_> = found
        .services
        .iter()
        .flat_map(|service| service.needs_end.clone())
        .collect();
    for service in &mut found.services {
        service.environment.retain(|name, _| !name.is_empty());
        service.ends = ends.contains(&service.name);
        for volume in service.volumes.values() {
            if !found.volumes.contains(volume) {
                source.wrong("/volumes", format!("there is no volume {volume}"));
            }
        }
    }
    circles(source, &found.services);
    found
}

pub(super) fn unknown(source: &Source, pointer: &str, name: &str) {
    let text = format!("`{name}` is not understood, and was left out");
    source.note(Weight::ToDo, pointer, text);
}

/// A name as objects have it.
pub(super) fn object_name(name: &str) -> String {
    let letters = name.to_lowercase();
    let letters = letters
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    let name: String = letters.take(50).collect();
    let name = name.trim_matches('-');
    if name.is_empty() {
        "imported".to_owned()
    } else {
        name.to_owned()
    }
}

/// Services that need each other could never start.
fn circles(source: &Source, services: &[Service]) {
    let mut left: Vec<_> = services.iter().collect();
    loop {
        let waits = |service: &&Service| {
            let needs = &service.needs;
            needs
                .iter()
                .any(|need| left.iter().any(|other| other.name == *need))
        };
        let waiting: Vec<_> = left.iter().copied().filter(waits).collect();
        if waiting.len() == left.len() {
            break;
        }
        left = waiting;
    }
    if !left.is_empty() {
        let names: Vec<_> = left.iter().map(|service| service.name.as_str()).collect();
        let text = format!("services wait for each other: {}", names.join(", "));
        source.wrong("/services", text);
    }
}

/// One service, with what is around it.
pub(super) struct Reader<'a> {
    pub(super) source: &'a Source,
    /// What the services' objects are called.
    pub(super) names: &'a BTreeMap<String, String>,
    pub(super) called: &'a str,
    pub(super) directory: &'a Path,
}

impl Reader<'_> {
    fn service(&self, pointer: &str, value: &Value, found: &mut Found) -> Service {
        let source = self.source;
        let mut service = Service {
            name: self.names[self.called].clone(),
            ..Service::default()
        };
        let (mut entry, mut command) = (None, None);
        let (mut image, mut built, mut working) = (None, None, None);
        let mut mounts = Vec::new();
        for (name, pointer, value) in source.map(pointer, Some(value)) {
            let text = || source.text(&pointer, Some(value));
            match name {
                "command" => command = Some((self.words(&pointer, value), pointer.clone())),
                "entrypoint" => entry = Some((self.words(&pointer, value), pointer.clone())),
                "image" => image = text().map(|image| (image, pointer.clone())),
                "build" => built = Some(self.built(&pointer, value)),
                "environment" => self.environment(&pointer, value, &mut service),
                "env_file" => self.env_files(&pointer, value, &mut service),
                "ports" | "expose" => self.ports(&pointer, value, &mut service),
                "depends_on" => self.needs(&pointer, value, &mut service),
                "healthcheck" => service.health = self.health(&pointer, value),
                "restart" => service.restart = self.restart(&pointer, value),
                "configs" => service.configs = self.mounted(&pointer, value, "configs"),
                "secrets" => service.secrets = self.mounted(&pointer, value, "secrets"),
                "volumes" => mounts = shared::mounts(source, &pointer, value, self.directory),
                "working_dir" => working = text().map(|path| (path, pointer.clone())),
                "user" => service.user = self.user(&pointer, value),
                "stop_signal" => service.stop_signal = self.signal(&pointer, value),
                "stop_grace_period" => service.stop_grace = self.time(&pointer, value),
                "profiles" => self.profiles(&pointer, value, &mut service, found),
                "extends" => self.note(
                    Weight::ToDo,
                    &pointer,
                    "`extends` is not followed: what the other service says is missing here",
                ),
                "container_name" | "hostname" | "networks" | "labels" | "logging" | "init"
                | "tty" | "stdin_open" | "platform" | "pull_policy" | "deploy" | "cap_add"
                | "cap_drop" | "security_opt" | "privileged" | "shm_size" | "read_only"
                | "tmpfs" | "annotations" | "develop" | "attach" | "links" | "dns"
                | "network_mode" | "mem_limit" | "cpus" | "ulimits" | "sysctls" | "ipc" => self
                    .note(
                        Weight::NoEffect,
                        &pointer,
                        &format!("`{name}` is about containers"),
                    ),
                _ => unknown(source, &pointer, name),
            }
        }
        self.program(pointer, &mut service, entry, command, image.is_some());
        if let Some((image, pointer)) = image {
            self.image(&pointer, &image, &service);
        }
        self.place(&mut service, working, built.flatten(), mounts);
        self.hosts(pointer, &mut service);
        service
    }

    pub(super) fn note(&self, weight: Weight, pointer: &str, text: &str) {
        let text = format!("{}: {text}", self.called);
        self.source.note(weight, pointer, text);
    }

    fn program(
        &self,
        pointer: &str,
        service: &mut Service,
        entry: Option<(Vec<String>, String)>,
        command: Option<(Vec<String>, String)>,
        has_image: bool,
    ) {
        // The image's own entrypoint is not known: what stands behind it may be arguments only.
        if let (None, Some((words, pointer)), true) = (&entry, &command, has_image)
            && words.first().is_some_and(|word| word.starts_with('-'))
        {
            let text =
                "`command` has only arguments; the program is in the image: write it before them";
            self.note(Weight::ToDo, pointer, text);
            service.command = Vec::new();
            return;
        }
        let words = entry.into_iter().chain(command);
        service.command = words.flat_map(|(words, _)| words).collect();
        if service.command.is_empty() {
            let text = format!(
                "there is no `command`, and images can't be run: install the program on this machine, write its command into {name}/blueprint.yaml, and rename {name}.yaml.todo to {name}.yaml",
                name = service.name
            );
            self.note(Weight::ToDo, pointer, &text);
        }
    }

    fn image(&self, pointer: &str, image: &str, service: &Service) {
        if let Some(program) = service.command.first() {
            let text = format!(
                "the image {image} is not used: `{program}` must be a program of this machine"
            );
            self.note(Weight::Differs, pointer, &text);
        }
    }

    /// The directory that the image would be built of.
    fn built(&self, pointer: &str, value: &Value) -> Option<PathBuf> {
        let context = if value.is_object() {
            value.get("context")
        } else {
            Some(value)
        };
        let context = self.source.text(pointer, context)?;
        let text = "nothing is built: the program runs as it is in that directory";
        self.note(Weight::Differs, pointer, text);
        Some(shared::local(self.directory, &context))
    }

    /// Where the program runs: where its `working_dir` is on this machine, or where it would be built.
    fn place(
        &self,
        service: &mut Service,
        working: Option<(String, String)>,
        built: Option<PathBuf>,
        mounts: Vec<shared::Mount>,
    ) {
        let mut directory = built;
        // The mount in which the program runs.
        let mut its_own = None;
        if let Some((path, pointer)) = working {
            let inside = mounts.iter().find_map(|mount| {
                let rest = Path::new(&path).strip_prefix(&mount.target).ok()?;
                let directory = mount.host.as_ref()?.join(rest);
                its_own = Some(mount.target.clone());
                Some(directory)
            });
            if inside.is_none() && directory.is_none() {
                let text = format!(
                    "`working_dir` {path} is in the container: the program runs in a directory of its own"
                );
                self.note(Weight::Differs, &pointer, &text);
            }
            directory = inside.or(directory);
        }
        for mount in mounts {
            if Some(&mount.target) == its_own.as_ref() {
                let text = format!(
                    "the program runs in that directory of this machine, and not in {}",
                    mount.target
                );
                self.note(Weight::Differs, &mount.pointer, &text);
                continue;
            }
            let (variable, at) = match (&mount.host, &mount.volume) {
                (Some(host), _) => (None, host.display().to_string()),
                (None, Some(volume)) => {
                    (Some(shared::variable(volume)), format!("volumes/{volume}"))
                }
                (None, None) => (None, "the program's own directory".to_owned()),
            };
            let told = variable
                .as_ref()
                .map(|name| format!(" (its variable {name})"));
            let text = format!(
                "nothing is mounted: what the program has at {} there is {at} here{}; let the program use that",
                mount.target,
                told.unwrap_or_default()
            );
            self.note(Weight::ToDo, &mount.pointer, &text);
            if let (Some(name), Some(volume)) = (variable, mount.volume) {
                service.volumes.insert(name, volume);
            }
        }
        service.directory = directory;
    }

    /// Other services are not found by name here: they are on this machine.
    fn hosts(&self, pointer: &str, service: &mut Service) {
        let environment = below(pointer, "environment");
        for (variable, value) in &mut service.environment {
            for name in self.names.keys() {
                if let Some(local) = shared::localized(variable, value, name) {
                    let text = format!(
                        "{variable}: the host {name} became 127.0.0.1, where all programs are"
                    );
                    self.note(Weight::Differs, &below(&environment, variable), &text);
                    *value = local;
                }
            }
        }
    }
}
