//! Where an attack takes place: a server, and the accounts that it knows.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::Outcome;
use super::attacks::Attack;
use super::kubeconfig::Entrance;
use super::wire::{Access, Answer};
use crate::Server;

/// The namespace that everything happens in.
pub(super) const NAMESPACE: &str = "hostile-suite";
/// The bystander's own: accounts of one namespace are counted as one user.
const ELSEWHERE: &str = "hostile-bystander";
/// The path of what is in it.
pub(super) const CORE: &str = "/api/v1/namespaces/hostile-suite";
/// Objects that may hold anything.
pub(super) const LOOSE: &str = "/apis/hostile.example.com/v1/namespaces/hostile-suite/looses";
/// Objects that have a schema.
pub(super) const STRICT: &str = "/apis/hostile.example.com/v1/namespaces/hostile-suite/stricts";
/// A value in a Secret that no attack may see.
pub(super) const TREASURE: &str = "dHJlYXN1cmUtNGUx";

/// How long a server may take for something that it does by and by.
const PATIENCE: Duration = Duration::from_secs(30);
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A server with its accounts.
pub(super) struct Stage {
    /// May do everything.
    pub(super) admin: Access,
    /// May do everything in the namespace.
    pub(super) tenant: Access,
    /// Has credentials and no rights.
    pub(super) powerless: Access,
    /// Has no credentials.
    pub(super) stranger: Access,
    /// May do everything in the namespace, and attacks nothing.
    pub(super) bystander: Access,
    /// The tenant's token.
    pub(super) token: String,
    quick: bool,
    /// The server, when it is ours.
    server: Option<Server>,
}

impl Stage {
    /// Starts a server for an attack, or takes the given one, and makes the accounts.
    pub(super) fn build(attack: &Attack, foreign: Option<&Entrance>, quick: bool) -> Outcome<Self> {
        let (server, own);
        let entrance = match foreign {
            Some(entrance) => {
                server = None;
                entrance
            }
            None => {
                let quota = attack.quota(quick);
                let arguments: Vec<&str> = quota.iter().map(String::as_str).collect();
                let started = Server::start_limited(attack.files, &arguments);
                own = Entrance::read(started.kubeconfig())?;
                server = Some(started);
                &own
            }
        };
        let mut stage = Self {
            admin: entrance.admin.clone(),
            tenant: entrance.stranger.clone(),
            powerless: entrance.stranger.clone(),
            bystander: entrance.stranger.clone(),
            stranger: entrance.stranger.clone(),
            token: String::new(),
            quick,
            server,
        };
        stage.furnish()?;
        (attack.prepare)(&stage)?;
        Ok(stage)
    }

    fn furnish(&mut self) -> Outcome {
        self.clear();
        for name in [NAMESPACE, ELSEWHERE] {
            let namespace = json!({"metadata": {"name": name}});
            self.made("/api/v1/namespaces", &namespace)?;
        }
        for (plural, kind, schema) in [
            (
                "looses",
                "Loose",
                json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            ),
            (
                "stricts",
                "Strict",
                json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}}}),
            ),
        ] {
            self.made(DEFINITIONS, &definition(plural, kind, &schema))?;
        }
        let [tenant, powerless] = ["tenant", "powerless"].map(|name| self.account(NAMESPACE, name));
        let bystander = self.account(ELSEWHERE, "bystander");
        self.token = tenant?;
        self.tenant = self.stranger.with_token(&self.token);
        self.powerless = self.stranger.with_token(&powerless?);
        self.bystander = self.stranger.with_token(&bystander?);
        let subject = |name: &str, namespace: &str| json!({"kind": "ServiceAccount", "name": name, "namespace": namespace});
        let rights = json!({
            "metadata": {"name": "all"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [subject("tenant", NAMESPACE), subject("bystander", ELSEWHERE)],
        });
        let bindings =
            format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/rolebindings");
        self.made(&bindings, &rights)?;
        let secret = json!({"metadata": {"name": "treasure"}, "data": {"a": TREASURE}});
        self.made("/api/v1/namespaces/default/secrets", &secret)?;
        self.made(
            &format!("{CORE}/configmaps"),
            &json!({"metadata": {"name": "kept"}, "data": {"kept": "as it was"}}),
        )?;
        for path in [LOOSE, STRICT] {
            self.until(path, |answer| answer.code == 200)?;
        }
        // Rights may take a moment to be known.
        let kept = format!("{CORE}/configmaps/kept");
        let started = Instant::now();
        while self
            .bystander
            .get(&kept)
            .map_err(|error| error.to_string())?
            .code
            != 200
        {
            pause(started, "the bystander's rights")?;
        }
        Ok(())
    }

    /// The token of a new account without rights.
    fn account(&self, namespace: &str, name: &str) -> Outcome<String> {
        let accounts = format!("/api/v1/namespaces/{namespace}/serviceaccounts");
        self.made(&accounts, &json!({"metadata": {"name": name}}))?;
        let token = self.made(&format!("{accounts}/{name}/token"), &json!({"spec": {}}))?;
        let token = token["status"]["token"].as_str();
        Ok(token.ok_or("the server gives no token")?.to_owned())
    }

    /// A new account that may do everything in the namespace, as the tenant can make it.
    pub(super) fn minted(&self, name: &str) -> Outcome<Access> {
        let token = self.account(NAMESPACE, name)?;
        let rights = json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}],
        });
        let bindings =
            format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/rolebindings");
        self.made(&bindings, &rights)?;
        Ok(self.stranger.with_token(&token))
    }

    /// Creates an object as the admin.
    pub(super) fn made(&self, path: &str, object: &Value) -> Outcome<Value> {
        let answer = self.admin.json("POST", path, object.to_string().as_bytes());
        let answer = answer.map_err(|error| format!("POST {path}: {error}"))?;
        if answer.code >= 300 {
            return Err(format!("POST {path}: {} {}", answer.code, answer.text()));
        }
        Ok(answer.json())
    }

    /// Reads as the admin until it is as it should be.
    pub(super) fn until(&self, path: &str, wanted: impl Fn(&Answer) -> bool) -> Outcome {
        let started = Instant::now();
        while !self.admin.get(path).is_ok_and(|answer| wanted(&answer)) {
            pause(started, path)?;
        }
        Ok(())
    }

    /// Removes what an attack on a server that is not ours has left; there may be nothing.
    pub(super) fn clear(&self) {
        if self.server.is_some() {
            return;
        }
        let namespaces = [NAMESPACE, ELSEWHERE].map(|name| format!("/api/v1/namespaces/{name}"));
        for path in [
            namespaces[0].as_str(),
            &namespaces[1],
            "/api/v1/namespaces/default/secrets/treasure",
            &format!("{DEFINITIONS}/looses.hostile.example.com"),
            &format!("{DEFINITIONS}/stricts.hostile.example.com"),
            &format!("{DEFINITIONS}/fulls.hostile.example.com"),
        ] {
            let _ = self.admin.json("DELETE", path, b"");
        }
        // A server that can't do that fails the next row's preparation, which says so.
        for namespace in &namespaces {
            let _ = self.until(namespace, |answer| answer.code == 404);
        }
        for plural in ["looses", "stricts", "fulls"] {
            let path = format!("{DEFINITIONS}/{plural}.hostile.example.com");
            let _ = self.until(&path, |answer| answer.code == 404);
        }
    }

    /// A number: the whole attack's, or that of a quick run.
    pub(super) fn count(&self, whole: usize, quick: usize) -> usize {
        if self.quick { quick } else { whole }
    }

    /// Whether the server was started for this attack.
    pub(super) fn is_ours(&self) -> bool {
        self.server.is_some()
    }

    /// The memory that the server has in use, in MiB, when it is ours.
    pub(super) fn memory_mib(&self) -> Option<u64> {
        self.status("VmRSS:")
    }

    /// The most memory that the server had in use since [`Stage::forget_peak`], in MiB, when it is ours.
    pub(super) fn peak_mib(&self) -> Option<u64> {
        self.status("VmHWM:")
    }

    /// Has the kernel measure the most memory from now on.
    pub(super) fn forget_peak(&self) {
        if let Some(server) = &self.server {
            // Where that is forbidden, the start counts too, which costs little.
            let _ = std::fs::write(format!("/proc/{}/clear_refs", server.id()), "5");
        }
    }

    fn status(&self, field: &str) -> Option<u64> {
        let file = format!("/proc/{}/status", self.server.as_ref()?.id());
        let text = std::fs::read_to_string(Path::new(&file)).ok()?;
        let value = text.lines().find_map(|line| line.strip_prefix(field))?;
        let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kib / 1024)
    }

    /// The last lines of the server's log, when it is ours.
    pub(super) fn log(&self) -> String {
        let log = self.server.as_ref().map(Server::log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(5)..].join("\n")
    }
}

/// Waits a little between two looks at a server, whoever's it is.
fn pause(started: Instant, what: &str) -> Outcome {
    if started.elapsed() > PATIENCE {
        return Err(format!("{what} is not there after {PATIENCE:?}"));
    }
    std::thread::sleep(Duration::from_millis(50));
    Ok(())
}

fn definition(plural: &str, kind: &str, schema: &Value) -> Value {
    json!({
        "metadata": {"name": format!("{plural}.hostile.example.com")},
        "spec": {
            "group": "hostile.example.com", "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}],
        },
    })
}
