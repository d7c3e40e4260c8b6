//! What the resolver is asked about one app type: it alone moves, all else in the namespace stays.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::Client;
use kube::api::ListParams;
use landform_api::GroupVersionKind;
use landform_api::catalog::app_type::AppTypeSpec;
use landform_api::catalog::operator_version::OperatorVersion;
use landform_catalog::model::RequiredPackage;
use landform_catalog::resolve::{self, Installed, Reach, Wanted};
use landform_catalog::{Bundle, Payload, Range};
use landform_engine::Failure;
use semver::Version;
use serde::Deserialize as _;

use crate::objects;

/// What is asked.
pub(super) struct Request<'a> {
    pub(super) spec: &'a AppTypeSpec,
    pub(super) kinds: Arc<BTreeSet<GroupVersionKind>>,
    pub(super) server: Version,
    pub(super) installed: Vec<Installed>,
}

impl Request<'_> {
    /// In the resolver's words.
    pub(super) fn of(self) -> resolve::Request {
        resolve::Request {
            wanted: vec![Wanted {
                package: self.spec.package.as_str().into(),
                channel: self.spec.channel.as_deref().map(Into::into),
                range: None,
                catalogs: self.spec.catalogs.clone(),
                reach: Reach::Way,
            }],
            // Where it stands is known: a step was chosen along the channel.
            installed: self
                .installed
                .into_iter()
                .filter(|found| *found.package != *self.spec.package)
                .collect(),
            kinds: self.kinds,
            server: Some(self.server),
        }
    }
}

/// The versions that are in a namespace; of a package that is being upgraded the highest.
pub(super) async fn installed(client: &Client, namespace: &str) -> Result<Vec<Installed>, Failure> {
    let listed = objects::versions(client, namespace)
        .list(&ListParams::default())
        .await?;
    let mut found: Vec<Installed> = Vec::new();
    for object in listed.items {
        let Ok(version) = OperatorVersion::deserialize(&object.data) else {
            continue;
        };
        let name = object.metadata.name.unwrap_or_default();
        let Some(installed) = installed_one(&name, &version) else {
            continue;
        };
        let known = found
            .iter_mut()
            .find(|known| known.package == installed.package);
        match known {
            Some(known)
                if known
                    .bundle
                    .version
                    .cmp_precedence(&installed.bundle.version)
                    .is_ge() => {}
            Some(known) => *known = installed,
            None => found.push(installed),
        }
    }
    Ok(found)
}

fn installed_one(name: &str, version: &OperatorVersion) -> Option<Installed> {
    let spec = &version.spec;
    let owned = spec.owned.iter();
    let owned = owned.map(|kind| GroupVersionKind::new(&kind.group, &kind.version, &kind.kind));
    let required = spec.requirements.definitions.iter();
    let required =
        required.map(|kind| GroupVersionKind::new(&kind.group, &kind.version, &kind.kind));
    let packages = spec.requirements.packages.iter().filter_map(|needed| {
        let text = if needed.range.is_empty() {
            ">=0.0.0-0"
        } else {
            &needed.range
        };
        Some(RequiredPackage {
            package: needed.package.as_str().into(),
            range: Range::parse(text).ok()?,
        })
    });
    Some(Installed {
        package: spec.package.as_str().into(),
        bundle: Arc::new(Bundle {
            name: name.into(),
            version: Version::parse(&spec.version).ok()?,
            owned: owned.collect(),
            required: required.collect(),
            packages: packages.collect(),
            min_server_version: None,
            deprecation: None,
            file: "".into(),
            payload: Payload::Facts,
        }),
        channel: None,
        movable: false,
    })
}
