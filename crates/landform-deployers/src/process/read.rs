//! Reads the configuration of a process, or says which field is wrong.

use std::collections::BTreeMap;
use std::time::Duration;

use landform_api::jsonpath::JsonPath;
use regex::Regex;
use rustix::process::Signal;
use serde_json::Value;

use super::access::Access;
use super::config::{
    Configuration, Export, Launch, Liveness, Logs, Policy, Probe, Readiness, Replace, Restart, Stop,
};
use super::launch::KUBECONFIG;
use crate::DeployError;
use crate::local::{
    Field, Hidden, is_inside, read_command, read_environment, read_files, read_user,
};

const SIGNALS: [(&str, Signal); 6] = [
    ("TERM", Signal::TERM),
    ("INT", Signal::INT),
    ("QUIT", Signal::QUIT),
    ("HUP", Signal::HUP),
    ("USR1", Signal::USR1),
    ("USR2", Signal::USR2),
];

impl Configuration {
    /// Reads it, or says which field is wrong.
    pub(crate) fn read(value: Option<&Value>) -> Result<Self, DeployError> {
        let root = Field::root(value.unwrap_or(&Value::Null));
        root.only(&[
            "command",
            "args",
            "env",
            "workingDirectory",
            "files",
            "restart",
            "readiness",
            "liveness",
            "stop",
            "logs",
            "exports",
            "replace",
            "access",
            "user",
        ])?;
        let readiness = root
            .get("readiness")
            .map(|field| read_readiness(&field))
            .transpose()?;
        let replace = [
            ("StopFirst", Replace::StopFirst),
            ("StartFirst", Replace::StartFirst),
        ];
        Ok(Self {
            launch: read_launch(&root)?,
            restart: read_restart(root.get("restart").as_ref())?,
            stop: read_stop(root.get("stop").as_ref())?,
            logs: read_logs(root.get("logs").as_ref())?,
            exports: read_exports(root.get("exports"), readiness.as_ref())?,
            replace: root
                .get("replace")
                .map_or(Ok(Replace::StopFirst), |field| field.choice(&replace))?,
            liveness: root
                .get("liveness")
                .map(|field| read_liveness(&field))
                .transpose()?,
            readiness,
        })
    }
}

fn read_launch(root: &Field<'_>) -> Result<Launch, DeployError> {
    let working_directory = root.get("workingDirectory");
    if let Some(field) = &working_directory {
        let path = field.text()?;
        if !path.starts_with('/') && !is_inside(path) {
            return Err(field.problem("must be absolute, or relative and without '..'"));
        }
    }
    let access = root.get("access").map(|field| Access::read(&field));
    let access = access.transpose()?;
    let environment = read_environment(root.get("env"))?;
    if access.is_some() && environment.0.contains_key(KUBECONFIG) {
        return Err(root.problem("env.KUBECONFIG is set by Landform when there is access"));
    }
    Ok(Launch {
        command: read_command(root)?,
        environment,
        access,
        user: read_user(root.get("user"))?,
        working_directory: working_directory
            .map(|field| field.text().map(str::to_owned))
            .transpose()?,
        files: read_files(root.get("files"))?,
    })
}

fn read_restart(field: Option<&Field<'_>>) -> Result<Restart, DeployError> {
    let mut restart = Restart {
        policy: Policy::Always,
        backoff: Duration::from_secs(1),
        backoff_limit: Duration::from_secs(60),
        limit: 10,
    };
    let Some(field) = field else {
        return Ok(restart);
    };
    field.only(&["policy", "backoff", "maxBackoff", "maxRestarts"])?;
    if let Some(policy) = field.get("policy") {
        restart.policy = policy.choice(&[
            ("Always", Policy::Always),
            ("OnFailure", Policy::OnFailure),
            ("Never", Policy::Never),
        ])?;
    }
    if let Some(backoff) = field.get("backoff") {
        restart.backoff = backoff.duration()?;
    }
    if let Some(limit) = field.get("maxBackoff") {
        restart.backoff_limit = limit.duration()?;
    }
    if let Some(limit) = field.get("maxRestarts") {
        restart.limit = limit.whole(0..=1_000_000)?;
    }
    Ok(restart)
}

fn read_readiness(field: &Field<'_>) -> Result<Readiness, DeployError> {
    field.only(&["http", "tcp", "exec", "log", "interval", "timeout"])?;
    Ok(Readiness {
        probe: read_probe(field, &["http", "tcp", "exec", "log"])?,
        interval: read_interval(field, Duration::from_secs(1))?,
        timeout: field
            .get("timeout")
            .map_or(Ok(Duration::from_secs(60)), |field| field.duration())?,
    })
}

/// A line of the log says nothing about what comes after it.
fn read_liveness(field: &Field<'_>) -> Result<Liveness, DeployError> {
    field.only(&["http", "tcp", "exec", "interval", "failures"])?;
    Ok(Liveness {
        probe: read_probe(field, &["http", "tcp", "exec"])?,
        interval: read_interval(field, Duration::from_secs(10))?,
        failures: field
            .get("failures")
            .map_or(Ok(3), |field| field.whole(1..=1_000))?,
    })
}

fn read_interval(field: &Field<'_>, usual: Duration) -> Result<Duration, DeployError> {
    let interval = field.get("interval");
    let interval = interval.map_or(Ok(usual), |field| field.duration())?;
    Ok(interval.max(Duration::from_millis(10)))
}

fn read_probe(field: &Field<'_>, kinds: &[&str]) -> Result<Probe, DeployError> {
    let mut given = kinds
        .iter()
        .filter_map(|kind| Some((*kind, field.get(kind)?)));
    let (Some((kind, probe)), None) = (given.next(), given.next()) else {
        let kinds = kinds.join(", ");
        return Err(field.problem(&format!("must have exactly one of {kinds}")));
    };
    Ok(match kind {
        "http" => read_http(&probe)?,
        "tcp" => {
            probe.only(&["host", "port"])?;
            Probe::Tcp {
                host: read_host(&probe)?,
                port: read_port(&probe)?,
            }
        }
        "exec" => {
            probe.only(&["command", "args"])?;
            Probe::Exec {
                command: read_command(&probe)?,
            }
        }
        _ => {
            probe.only(&["pattern"])?;
            let field = probe.require("pattern")?;
            let pattern = Regex::new(field.text()?);
            let pattern = pattern.map_err(|_| field.problem("must be a regular expression"))?;
            Probe::Log { pattern }
        }
    })
}

fn read_http(field: &Field<'_>) -> Result<Probe, DeployError> {
    field.only(&["host", "port", "path", "status"])?;
    let path = field.get("path").map_or(Ok("/"), |field| {
        let path = field.text()?;
        let fits = path.starts_with('/') && path.parse::<http::Uri>().is_ok();
        fits.then_some(path)
            .ok_or_else(|| field.problem("must be a path that begins with '/'"))
    })?;
    let status = field
        .get("status")
        .map(|field| field.whole(100..=599))
        .transpose()?;
    Ok(Probe::Http {
        host: read_host(field)?,
        port: read_port(field)?,
        path: Hidden(path.to_owned()),
        status: status.and_then(|status| u16::try_from(status).ok()),
    })
}

fn read_host(field: &Field<'_>) -> Result<String, DeployError> {
    let host = field
        .get("host")
        .map_or(Ok("127.0.0.1"), |field| field.text());
    Ok(host?.to_owned())
}

fn read_port(field: &Field<'_>) -> Result<u16, DeployError> {
    let field = field.require("port")?;
    // Templates like to put numbers in quotes.
    let text = field
        .value()
        .as_str()
        .and_then(|text| text.parse::<u64>().ok());
    let port = text.map_or_else(|| field.whole(1..=65535), Ok)?;
    let port = u16::try_from(port).ok().filter(|port| *port > 0);
    port.ok_or_else(|| field.problem("must be a whole number from 1 to 65535"))
}

fn read_stop(field: Option<&Field<'_>>) -> Result<Stop, DeployError> {
    let mut signal = Signal::TERM;
    let mut grace = Duration::from_secs(10);
    if let Some(field) = field {
        field.only(&["signal", "grace"])?;
        if let Some(field) = field.get("signal") {
            signal = field.choice(&SIGNALS)?;
        }
        if let Some(field) = field.get("grace") {
            grace = field.duration()?;
        }
    }
    Ok(Stop::new(signal, grace))
}

fn read_logs(field: Option<&Field<'_>>) -> Result<Logs, DeployError> {
    let mut logs = Logs {
        max_bytes: 10 << 20,
        max_files: 3,
    };
    if let Some(field) = field {
        field.only(&["maxBytes", "maxFiles"])?;
        if let Some(field) = field.get("maxBytes") {
            logs.max_bytes = field.whole(1024..=1 << 40)?;
        }
        if let Some(field) = field.get("maxFiles") {
            logs.max_files = field.whole(0..=1000)?;
        }
    }
    Ok(logs)
}

fn read_exports(
    field: Option<Field<'_>>,
    readiness: Option<&Readiness>,
) -> Result<BTreeMap<String, Export>, DeployError> {
    let mut exports = BTreeMap::new();
    for (name, field) in field.map_or(Ok(Vec::new()), |field| field.entries())? {
        field.only(&["value", "fromFile", "fromProbe"])?;
        let export = match (
            field.get("value"),
            field.get("fromFile"),
            field.get("fromProbe"),
        ) {
            (Some(value), None, None) => Export::Static(Hidden(value.value().clone())),
            (None, Some(file), None) => {
                file.only(&["path", "jsonPath"])?;
                let path = file.require("path")?;
                if !is_inside(path.text()?) {
                    return Err(path.problem("must be relative and without '..'"));
                }
                let select = file
                    .get("jsonPath")
                    .map(|field| read_path(&field))
                    .transpose()?;
                Export::File {
                    path: path.text()?.to_owned(),
                    select,
                }
            }
            (None, None, Some(probe)) => {
                probe.only(&["jsonPath"])?;
                let answers = readiness.map(|readiness| &readiness.probe);
                if !matches!(answers, Some(Probe::Http { .. } | Probe::Exec { .. })) {
                    return Err(probe.problem("needs readiness.http or readiness.exec"));
                }
                Export::Probe {
                    select: read_path(&probe.require("jsonPath")?)?,
                }
            }
            _ => return Err(field.problem("must have exactly one of value, fromFile, fromProbe")),
        };
        exports.insert(name.to_owned(), export);
    }
    Ok(exports)
}

fn read_path(field: &Field<'_>) -> Result<JsonPath, DeployError> {
    JsonPath::parse(field.text()?)
        .map_err(|error| field.problem(&format!("must be a JSONPath: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn little_is_enough() {
        let value = json!({"command": ["server"], "args": ["--port", 80]});
        let read = Configuration::read(Some(&value)).unwrap();
        assert_eq!(read.launch.command.0, ["server", "--port", "80"]);
        assert_eq!(read.restart.policy, Policy::Always);
        assert_eq!(read.replace, Replace::StopFirst);
        assert_eq!(read.stop.signal(), Signal::TERM);
        assert_eq!(read.stop.grace(), Duration::from_secs(10));
    }

    #[test]
    fn wrong_fields_are_named() {
        let with = |field: &str, value: Value| {
            let mut config = json!({"command": ["server"]});
            config[field] = value;
            config
        };
        let table = [
            (json!({}), "config: command is missing"),
            (
                with("access", json!({})),
                "config.access: serviceAccount is missing",
            ),
            (
                with("access", json!({"serviceAccount": "../x"})),
                "config.access.serviceAccount: must be a name",
            ),
            (
                with("access", json!({"serviceAccount": "x", "namespace": "a/b"})),
                "config.access.namespace: must be a name",
            ),
            (
                json!({"command": ["x"], "env": {"KUBECONFIG": "a"}, "access": {"serviceAccount": "x"}}),
                "config: env.KUBECONFIG is set by Landform",
            ),
            (json!({"command": []}), "config.command: names no program"),
            (json!("x"), "config: must be an object"),
            (
                with("environment", json!({})),
                "config.environment: unknown field; there are ",
            ),
            (
                with("env", json!({"A": ["x"]})),
                "config.env.A: must be a string",
            ),
            (
                with("env", json!({"LANDFORM_ITEM": "x"})),
                "config.env.LANDFORM_ITEM: is set by",
            ),
            (
                with("files", json!({"/etc/passwd": ""})),
                "config.files./etc/passwd: the path must",
            ),
            (
                with("workingDirectory", json!("../x")),
                "config.workingDirectory: must be absolute",
            ),
            (
                with("restart", json!({"policy": "never"})),
                "config.restart.policy: must be one of",
            ),
            (
                with("stop", json!({"signal": "KILL"})),
                "config.stop.signal: must be one of TERM",
            ),
            (
                with("logs", json!({"maxBytes": 10})),
                "config.logs.maxBytes: must be a whole",
            ),
            (
                with("readiness", json!({})),
                "config.readiness: must have exactly one of",
            ),
            (
                with("readiness", json!({"tcp": {"port": 0}})),
                "config.readiness.tcp.port: must be a whole number",
            ),
            (
                with("readiness", json!({"log": {"pattern": "("}})),
                "config.readiness.log.pattern: must be a regular expression",
            ),
            (
                with("exports", json!({"a": {"fromProbe": {"jsonPath": ".a"}}})),
                "config.exports.a.fromProbe: needs readiness.http",
            ),
            (
                with(
                    "exports",
                    json!({"a": {"fromFile": {"path": "x", "jsonPath": "["}}}),
                ),
                "config.exports.a.fromFile.jsonPath: must be a JSONPath",
            ),
            (
                with("replace", json!("Rolling")),
                "config.replace: must be one of StopFirst",
            ),
        ];
        for (value, problem) in table {
            let error = Configuration::read(Some(&value)).unwrap_err();
            assert!(
                error.message.starts_with(problem),
                "{} / {problem}",
                error.message
            );
            assert!(error.is_fatal());
        }
    }

    #[test]
    fn nothing_secret_is_printed() {
        let value = json!({
            "command": ["server", "canary"],
            "args": ["canary"],
            "env": {"A": "canary"},
            "files": {"a": "canary"},
            "readiness": {"http": {"port": 1, "path": "/canary"}},
            "exports": {"a": {"value": "canary"}},
        });
        let read = Configuration::read(Some(&value)).unwrap();
        assert!(!format!("{read:?}").contains("canary"));
    }
}
