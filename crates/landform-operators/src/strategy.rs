//! From an install strategy to the deploy items of an execution. Pure.
//!
//! Objects of all versions of an operator are of one family: under the same name the next version takes them
//! over from the one before, and what only the old version had goes with it.

use landform_api::catalog::keys;
use landform_api::catalog::operator_version::OperatorVersionSpec;
use landform_api::catalog::strategy::{
    DeploymentStrategy, ManifestsStrategy, Permission, ProcessStrategy,
};
use landform_api::duration;
use landform_api::landscaper::DeployItemTemplate;
use landform_api::landscaper::names::generated;
use landform_deployers::{manifest, process};
use serde_json::{Map, Value, json};

/// Whose items they are.
pub(crate) struct Whose<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
    pub(crate) uid: &'a str,
}

/// The name of the execution that installs a version: its own, if that fits into a label.
pub(crate) fn execution_name(name: &str, uid: &str) -> String {
    if name.len() <= 63 {
        name.to_owned()
    } else {
        generated(name, uid, "execution")
    }
}

/// The deploy items that install a version; none when there is nothing to install.
///
/// # Errors
/// What is wrong with the strategy, for people.
pub(crate) fn items(
    whose: &Whose<'_>,
    spec: &OperatorVersionSpec,
) -> Result<Vec<DeployItemTemplate>, String> {
    let install = &spec.install;
    let mut items = match (&install.deployment, &install.process, &install.manifests) {
        (None, None, None) => Vec::new(),
        (Some(deployment), None, None) => vec![of_deployment(whose, spec, deployment)?],
        (None, Some(process), None) => of_process(whose, spec, process)?,
        (None, None, Some(manifests)) => vec![of_manifests(whose, spec, manifests)?],
        _ => {
            return Err(
                "spec.install has more than one of deployment, process and manifests: leave one"
                    .into(),
            );
        }
    };
    let timeout = install.timeout.as_deref();
    if timeout.is_some_and(|text| duration::timeout(text).is_none()) {
        return Err(format!(
            "spec.install.timeout: {}",
            duration::TIMEOUT_EXPECTED
        ));
    }
    for item in &mut items {
        item.timeout.clone_from(&install.timeout);
    }
    Ok(items)
}

fn of_deployment(
    whose: &Whose<'_>,
    spec: &OperatorVersionSpec,
    strategy: &DeploymentStrategy,
) -> Result<DeployItemTemplate, String> {
    let mut objects = Vec::new();
    let accounts = strategy
        .permissions
        .iter()
        .chain(&strategy.cluster_permissions);
    let mut named: Vec<_> = accounts
        .map(|permission| permission.service_account_name.as_str())
        .collect();
    named.sort_unstable();
    named.dedup();
    // Accounts that somebody else has made are used as they are.
    objects.extend(
        named
            .into_iter()
            .map(|name| ("fallback", service_account(name))),
    );
    for permission in &strategy.permissions {
        objects.extend(rights(whose, permission, false).map(|object| ("manage", object)));
    }
    for permission in &strategy.cluster_permissions {
        objects.extend(rights(whose, permission, true).map(|object| ("manage", object)));
    }
    if strategy.deployments.is_empty() {
        return Err("spec.install.deployment.deployments is empty".into());
    }
    for deployment in &strategy.deployments {
        let mut labels = deployment.label.clone();
        labels.insert(
            keys::OPERATOR_VERSION.into(),
            execution_name(whose.name, whose.uid),
        );
        objects.push((
            "manage",
            json!({
                "apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": deployment.name, "labels": labels},
                "spec": deployment.spec,
            }),
        ));
    }
    Ok(manifest_item(whose, spec, "operator", objects, None))
}

fn of_process(
    whose: &Whose<'_>,
    spec: &OperatorVersionSpec,
    strategy: &ProcessStrategy,
) -> Result<Vec<DeployItemTemplate>, String> {
    let Value::Object(config) = &strategy.config else {
        return Err("spec.install.process.config must be an object with at least `command`".into());
    };
    let account = generated(&format!("{}-", whose.name), whose.uid, "account");
    let permission = |rules: &[Value]| Permission {
        service_account_name: account.clone(),
        rules: rules.to_vec(),
    };
    let mut objects = vec![("manage", service_account(&account))];
    if !strategy.rules.is_empty() {
        let rights = rights(whose, &permission(&strategy.rules), false);
        objects.extend(rights.map(|object| ("manage", object)));
    }
    if !strategy.cluster_rules.is_empty() {
        let rights = rights(whose, &permission(&strategy.cluster_rules), true);
        objects.extend(rights.map(|object| ("manage", object)));
    }
    let mut config = config.clone();
    if let Some(field) = ["access", "exports"]
        .into_iter()
        .find(|field| config.contains_key(*field))
    {
        return Err(format!(
            "spec.install.process.config.{field} is set by Landform: leave it out"
        ));
    }
    config.insert("access".into(), json!({"serviceAccount": account}));
    let environment = config
        .entry("env")
        .or_insert_with(|| Value::Object(Map::new()));
    let Value::Object(environment) = environment else {
        return Err("spec.install.process.config.env must be an object".into());
    };
    for (key, value) in [
        ("LANDFORM_OPERATOR_VERSION", whose.name),
        ("LANDFORM_OPERATOR_UID", whose.uid),
        ("LANDFORM_NAMESPACE", whose.namespace),
        ("LANDFORM_PACKAGE", &spec.package),
        ("LANDFORM_VERSION", &spec.version),
    ] {
        environment.insert(key.into(), json!(value));
    }
    Ok(vec![
        manifest_item(whose, spec, "access", objects, None),
        DeployItemTemplate {
            name: "operator".into(),
            kind: process::ProcessDeployer::KIND.into(),
            config: Some(Value::Object(config)),
            depends_on: vec!["access".into()],
            ..DeployItemTemplate::default()
        },
    ])
}

fn of_manifests(
    whose: &Whose<'_>,
    spec: &OperatorVersionSpec,
    strategy: &ManifestsStrategy,
) -> Result<DeployItemTemplate, String> {
    for (place, object) in strategy.objects.iter().enumerate() {
        if !object["metadata"]["name"].is_string() || !object["kind"].is_string() {
            return Err(format!(
                "spec.install.manifests.objects[{place}] must be an object with apiVersion, kind and metadata.name"
            ));
        }
    }
    let objects = strategy
        .objects
        .iter()
        .map(|object| ("manage", object.clone()));
    let readiness = strategy.readiness_checks.as_ref();
    Ok(manifest_item(
        whose,
        spec,
        "operator",
        objects.collect(),
        readiness,
    ))
}

fn service_account(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}})
}

/// A role with its binding, in the namespace or of the cluster.
fn rights(
    whose: &Whose<'_>,
    permission: &Permission,
    of_cluster: bool,
) -> impl Iterator<Item = Value> + use<> {
    const GROUP: &str = "rbac.authorization.k8s.io";
    let account = &permission.service_account_name;
    let name = if of_cluster {
        generated(
            &format!("{}-{}-", whose.namespace, whose.name),
            whose.uid,
            account,
        )
    } else {
        generated(&format!("{}-", whose.name), whose.uid, account)
    };
    let (role, binding) = if of_cluster {
        ("ClusterRole", "ClusterRoleBinding")
    } else {
        ("Role", "RoleBinding")
    };
    [
        json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": role,
            "metadata": {"name": name}, "rules": permission.rules,
        }),
        json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": binding,
            "metadata": {"name": name},
            "roleRef": {"apiGroup": GROUP, "kind": role, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": whose.namespace}],
        }),
    ]
    .into_iter()
}

fn manifest_item(
    whose: &Whose<'_>,
    spec: &OperatorVersionSpec,
    name: &str,
    objects: Vec<(&str, Value)>,
    readiness: Option<&Value>,
) -> DeployItemTemplate {
    let family = format!("{}/{}", whose.namespace, spec.package);
    let manifests = objects.into_iter().map(|(policy, mut object)| {
        object["metadata"]["annotations"][manifest::ANNOTATION_FAMILY] = json!(family);
        json!({"policy": policy, "manifest": object})
    });
    let mut config = json!({"thisServer": true, "manifests": manifests.collect::<Vec<_>>()});
    if let Some(readiness) = readiness {
        config["readinessChecks"] = readiness.clone();
    }
    DeployItemTemplate {
        name: name.into(),
        kind: manifest::KIND.into(),
        config: Some(config),
        ..DeployItemTemplate::default()
    }
}
