//! From a Target to a client of its API.
//!
//! A kubeconfig comes from people who may not be those that run Landform. So it may hold credentials, but
//! not have Landform run a program (`exec`, `auth-provider`) or read a file (`client-certificate`…).

use http::{HeaderName, HeaderValue};
use k8s_openapi::api::core::v1::Secret;
use kube::client::ClientBuilder;
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use landform_engine::Right;
use landform_yaml::Budget;
use serde_json::{Map, Value};

use super::answers::Limits;
use super::report;
use crate::{DeployError, Job, ResolvedTarget};

/// The type of Targets that are Kubernetes clusters.
pub const KUBERNETES_CLUSTER: &str = "landscaper.gardener.cloud/kubernetes-cluster";
/// The type of a Target that is Landform itself.
pub const THIS_SERVER: &str = "landform.dev/this-server";
/// The key of a kubeconfig in a Secret, unless the reference says another.
pub(crate) const DEFAULT_KEY: &str = "kubeconfig";
/// Kubeconfigs are small.
const BUDGET: Budget = Budget {
    depth: 20,
    cells: 40_000,
    bytes: 1024 * 1024,
};
/// Fields of a user or cluster that Landform doesn't follow, and what to write instead.
const REFUSED: [(&str, &str); 7] = [
    (
        "exec",
        "it would run a program: put a token or a certificate into the kubeconfig",
    ),
    (
        "auth-provider",
        "it would run a program: put a token or a certificate into the kubeconfig",
    ),
    ("tokenFile", "it names a file: use token"),
    (
        "client-certificate",
        "it names a file: use client-certificate-data",
    ),
    ("client-key", "it names a file: use client-key-data"),
    (
        "certificate-authority",
        "it names a file: use certificate-authority-data",
    ),
    ("proxy-url", "proxies are not supported"),
];

/// Fields of a user whose values are sent in headers.
const SENT: [&str; 5] = ["token", "as", "as-uid", "as-groups", "as-user-extra"];

/// An API that objects go to.
pub(super) struct Connection {
    pub(super) client: Client,
    /// Whether it is Landform's own, where the item's writer must have the rights.
    pub(super) here: bool,
    pub(super) target: String,
    /// Where objects without a namespace go.
    pub(super) namespace: String,
    /// Those of its answers; none for Landform's own.
    pub(super) limits: Option<Limits>,
}

/// Connects to the item's target, to take away what was deployed. In Landform itself that needs no right of the writer's,
/// who may have lost it or gone, as far as the item has made the objects itself. What is in Landform itself is known by what
/// was noted then: the configuration may be one of another type by now.
pub(super) async fn connect_to_remove(
    job: &Job<'_>,
    noted: Option<&str>,
) -> Result<Connection, DeployError> {
    if noted == Some(THIS_SERVER) {
        return Ok(Connection {
            client: job.own_client(),
            here: true,
            target: THIS_SERVER.to_owned(),
            namespace: job.name().0.to_owned(),
            limits: None,
        });
    }
    let connection = connect(job).await?;
    Ok(match connection.here {
        true => Connection {
            client: job.own_client(),
            ..connection
        },
        false => connection,
    })
}

/// Connects to the item's target.
pub(super) async fn connect(job: &Job<'_>) -> Result<Connection, DeployError> {
    let (namespace, _) = job.name();
    let here = job.spec.config.as_ref().map(|config| &config["thisServer"]);
    if job.spec.target.is_none() && here == Some(&Value::Bool(true)) {
        return Ok(Connection {
            client: job.making_client()?,
            here: true,
            target: THIS_SERVER.to_owned(),
            namespace: namespace.to_owned(),
            limits: None,
        });
    }
    let Some(target) = job.target else {
        let message = format!(
            "spec.target is missing, or there is no such Target: make one of type \
             {KUBERNETES_CLUSTER} with config.kubeconfig, or of type {THIS_SERVER} for objects in \
             Landform itself, and name it in spec.target; or set config.thisServer: true"
        );
        return Err(DeployError::configuration("NoTarget", message));
    };
    match target.spec.kind.as_str() {
        THIS_SERVER => Ok(Connection {
            client: job.making_client()?,
            here: true,
            target: target.name.clone(),
            namespace: namespace.to_owned(),
            limits: None,
        }),
        KUBERNETES_CLUSTER => {
            job.context.computes_aside();
            let kubeconfig = kubeconfig(job, target).await?;
            let whose = format!("target {}", target.name);
            let (client, namespace, limits) = client(&whose, &kubeconfig).await?;
            Ok(Connection {
                client,
                here: false,
                target: target.name.clone(),
                namespace,
                limits: Some(limits),
            })
        }
        _ => {
            let problem = format!("its type must be {KUBERNETES_CLUSTER} or {THIS_SERVER}");
            Err(unusable(&format!("target {}", target.name), &problem))
        }
    }
}

/// The kubeconfig of a target, parsed. It may be a text, a map, or in a Secret.
async fn kubeconfig(job: &Job<'_>, target: &ResolvedTarget) -> Result<Value, DeployError> {
    let configuration = target.spec.configuration.as_ref();
    let found = match configuration {
        Some(Value::Object(fields)) if !fields.contains_key("clusters") => fields.get("kubeconfig"),
        other => other,
    };
    let missing = "config.kubeconfig is missing: give the kubeconfig as text, or \
        secretRef with the name of a Secret in this namespace that holds it";
    let whose = format!("target {}", target.name);
    let value = found.ok_or_else(|| unusable(&whose, missing))?;
    match value {
        Value::String(text) => parse(&whose, text),
        Value::Object(fields) if fields.contains_key("secretRef") => {
            let text = from_secret(job, &whose, &fields["secretRef"]).await?;
            parse(&whose, &text)
        }
        Value::Object(_) => Ok(value.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => {
            Err(unusable(&whose, missing))
        }
    }
}

async fn from_secret(job: &Job<'_>, whose: &str, reference: &Value) -> Result<String, DeployError> {
    let (namespace, _) = job.name();
    let text = |field: &str| reference[field].as_str().filter(|text| !text.is_empty());
    let Some(name) = text("name") else {
        return Err(unusable(
            whose,
            "config.kubeconfig.secretRef.name is missing",
        ));
    };
    if text("namespace").is_some_and(|given| given != namespace) {
        let problem = "config.kubeconfig.secretRef may only name a Secret in the item's namespace";
        return Err(unusable(whose, problem));
    }
    let key = text("key").unwrap_or(DEFAULT_KEY);
    job.require([Right::new("get", "", "secrets", namespace, name)])
        .await?;
    let secrets: Api<Secret> = Api::namespaced(job.client()?, namespace);
    let secret = job.or_cancelled(secrets.get_opt(name)).await?;
    let secret = secret.map_err(|error| {
        let message = format!(
            "{whose}: Secret {namespace}/{name} can't be read: {}",
            report::in_short(true, &error)
        );
        DeployError::transient("ReadTarget", "SecretNotRead", message)
    })?;
    let Some(secret) = secret else {
        let message = format!("{whose}: Secret {namespace}/{name} doesn't exist");
        return Err(DeployError::transient(
            "ReadTarget",
            "SecretNotFound",
            message,
        ));
    };
    let bytes = secret.data.and_then(|mut data| data.remove(key));
    let text = bytes.and_then(|bytes| String::from_utf8(bytes.0).ok());
    text.ok_or_else(|| {
        let problem = format!("Secret {namespace}/{name} has no text under the key {key}");
        unusable(whose, &problem)
    })
}

/// The parser's message could repeat a part of the text, so only its place is told.
pub(crate) fn parse(whose: &str, text: &str) -> Result<Value, DeployError> {
    landform_yaml::parse_one(text, &BUDGET)
        .map_err(|_| unusable(whose, "its kubeconfig is neither YAML nor JSON"))
}

/// A client, the namespace that the kubeconfig's context names, and the limits of its answers.
pub(crate) async fn client(
    whose: &str,
    kubeconfig: &Value,
) -> Result<(Client, String, Limits), DeployError> {
    check(whose, kubeconfig)?;
    let broken = "its kubeconfig can't be used: check current-context, the cluster's server and \
        certificate-authority-data, and the user's credentials";
    let kubeconfig: Kubeconfig = serde_json::from_value(kubeconfig.clone())
        .map_err(|_| unusable(whose, "its kubeconfig has a field of the wrong type"))?;
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let mut config = config.map_err(|_| unusable(whose, broken))?;
    // A request that is sent again after the run was cancelled would get past the fence.
    config.default_retry = false;
    config.proxy_url = None;
    let namespace = config.default_namespace.clone();
    let client = ClientBuilder::try_from(config).map_err(|_| unusable(whose, broken))?;
    let limits = Limits::default();
    Ok((client.with_layer(&limits).build(), namespace, limits))
}

/// Looks at the cluster and the user of the current context.
fn check(whose: &str, kubeconfig: &Value) -> Result<(), DeployError> {
    let named = |list: &str, name: Option<&str>, field: &str| -> Option<&Value> {
        let list = kubeconfig[list].as_array()?;
        let entry = list.iter().find(|entry| entry["name"].as_str() == name)?;
        entry.get(field)
    };
    let current = kubeconfig["current-context"].as_str();
    let Some(context) = named("contexts", current, "context") else {
        let problem = "its kubeconfig has no current-context that is among its contexts";
        return Err(unusable(whose, problem));
    };
    let parts = [
        (
            "cluster",
            named("clusters", context["cluster"].as_str(), "cluster"),
        ),
        ("user", named("users", context["user"].as_str(), "user")),
    ];
    let user = parts.iter().find(|(part, _)| *part == "user");
    if let Some(problem) = user.and_then(|(_, user)| problem_of_user((*user)?)) {
        return Err(unusable(whose, &format!("in its kubeconfig {problem}")));
    }
    for (part, value) in parts {
        let Some(Value::Object(fields)) = value else {
            let problem = format!("its kubeconfig has no such {part} as its current context names");
            return Err(unusable(whose, &problem));
        };
        for (field, instead) in REFUSED {
            if fields.get(field).is_some_and(|value| !value.is_null()) {
                let problem =
                    format!("{part}.{field} in its kubeconfig is not followed: {instead}");
                return Err(unusable(whose, &problem));
            }
        }
    }
    Ok(())
}

/// What is wrong with a user of a kubeconfig that would make the client library panic.
#[must_use]
pub fn problem_of_user(user: &Value) -> Option<String> {
    let field = unsendable(user.as_object()?)?;
    Some(format!(
        "user.{field} can't be sent: it has a line break, or another character that a header can't have"
    ))
}

/// The field that goes into a header and can't: the client library takes it for granted that each can.
fn unsendable(fields: &Map<String, Value>) -> Option<&'static str> {
    fn fits(value: &Value) -> bool {
        match value {
            Value::String(text) => HeaderValue::try_from(text).is_ok(),
            Value::Array(items) => items.iter().all(fits),
            Value::Object(fields) => fields
                .iter()
                .all(|(name, value)| HeaderName::try_from(name).is_ok() && fits(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => true,
        }
    }
    SENT.into_iter()
        .find(|field| fields.get(*field).is_some_and(|value| !fits(value)))
}

fn unusable(whose: &str, problem: &str) -> DeployError {
    DeployError::configuration("UnusableTarget", format!("{whose}: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kubeconfig(cluster: Value, user: Value) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "n"}}],
            "clusters": [{"name": "k", "cluster": cluster}],
            "users": [{"name": "u", "user": user}],
        })
    }

    #[tokio::test]
    async fn a_plain_kubeconfig_gives_a_client() {
        let server = json!({"server": "http://127.0.0.1:1"});
        let config = kubeconfig(server, json!({"token": "canary"}));
        let (client, namespace, _) = client("t", &config).await.unwrap();
        assert_eq!((client.default_namespace(), namespace.as_str()), ("n", "n"));
    }

    #[tokio::test]
    async fn user_and_password_may_have_any_characters() {
        let server = json!({"server": "http://127.0.0.1:1"});
        let user = json!({"username": "a\n", "password": "b\r\nc: é"});
        assert!(client("t", &kubeconfig(server, user)).await.is_ok());
    }

    #[tokio::test]
    async fn a_client_with_tls_needs_nothing_else_of_the_process() {
        let server = json!({"server": "https://127.0.0.1:1", "tls-server-name": "x"});
        let config = kubeconfig(server, json!({"token": "canary"}));
        assert!(client("t", &config).await.is_ok());
    }

    #[tokio::test]
    async fn programs_and_files_are_refused_without_telling_credentials() {
        let server = json!({"server": "https://127.0.0.1:1"});
        for (what, cluster, user) in [
            (
                "user.exec",
                server.clone(),
                json!({"exec": {"command": "/bin/canary"}}),
            ),
            (
                "user.auth-provider",
                server.clone(),
                json!({"auth-provider": {"name": "canary"}}),
            ),
            (
                "user.tokenFile",
                server.clone(),
                json!({"tokenFile": "/canary"}),
            ),
            (
                "user.client-certificate",
                server.clone(),
                json!({"client-certificate": "/canary"}),
            ),
            (
                "user.client-key",
                server.clone(),
                json!({"client-key": "/canary"}),
            ),
            (
                "cluster.certificate-authority",
                json!({"server": "https://canary", "certificate-authority": "/canary"}),
                json!({"token": "canary"}),
            ),
            (
                "cluster.proxy-url",
                json!({"server": "https://canary", "proxy-url": "http://canary@x"}),
                json!({}),
            ),
            ("user.token", server.clone(), json!({"token": "canary\n"})),
            (
                "user.token",
                server.clone(),
                json!({"token": "can\u{0}ary"}),
            ),
            (
                "user.as",
                server.clone(),
                json!({"token": "a", "as": "canary\n"}),
            ),
            (
                "user.as-groups",
                server.clone(),
                json!({"token": "a", "as-groups": ["a", "canary\n"]}),
            ),
            (
                "user.as-user-extra",
                server.clone(),
                json!({"token": "a", "as-user-extra": {"canary\n": ["a"]}}),
            ),
            ("wrong type", server.clone(), json!({"token": ["canary"]})),
            (
                "can't be used",
                json!({"server": "https://x", "certificate-authority-data": "canary"}),
                json!({}),
            ),
            (
                "can't be used",
                json!({"server": "canary canary"}),
                json!({}),
            ),
        ] {
            let error = client("t", &kubeconfig(cluster, user)).await.err();
            let error = error.unwrap_or_else(|| panic!("{what} was taken"));
            assert!(error.message.contains(what), "{what}: {error}");
            assert!(!error.message.contains("canary"), "{error}");
            assert!(error.is_fatal());
        }
    }

    #[test]
    fn what_is_no_kubeconfig_is_refused_without_telling_it() {
        for text in ["canary: [", "canary", "current-context: canary"] {
            let error = parse("t", text).and_then(|value| check("t", &value));
            let error = error.unwrap_err();
            assert!(!error.message.contains("canary"), "{error}");
        }
    }
}
