//! What `cargo metadata` says about the workspace and its dependencies.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use serde_json::Value;

use crate::Outcome;
use crate::process::{self, cargo};

/// The resolved graph of packages.
pub struct Metadata {
    packages: BTreeMap<String, Package>,
    members: BTreeSet<String>,
    target_directory: PathBuf,
}

/// One package of the graph.
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its licence, as an SPDX expression.
    pub license: Option<String>,
    /// Whether it comes from a registry; ours don't.
    pub external: bool,
    /// The ids of the packages that it needs to run.
    normal: Vec<String>,
    /// The ids of the packages that its tests and build scripts need besides.
    other: Vec<String>,
}

impl Metadata {
    /// Asks cargo.
    ///
    /// # Errors
    /// When cargo fails or answers in a form that we don't know.
    pub fn load() -> Outcome<Self> {
        let text = process::output(cargo().args(["metadata", "--format-version", "1"]))?;
        let json: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        Self::from_json(&json).ok_or_else(|| "cargo metadata answers in an unknown form".into())
    }

    fn from_json(json: &Value) -> Option<Self> {
        let mut packages = BTreeMap::new();
        for package in json["packages"].as_array()? {
            packages.insert(
                text(&package["id"])?,
                Package {
                    name: text(&package["name"])?,
                    license: text(&package["license"]),
                    external: !package["source"].is_null(),
                    normal: Vec::new(),
                    other: Vec::new(),
                },
            );
        }
        for node in json["resolve"]["nodes"].as_array()? {
            let package = packages.get_mut(node["id"].as_str()?)?;
            for dependency in node["deps"].as_array()? {
                let kinds = dependency["dep_kinds"].as_array()?;
                let normal = kinds.iter().any(|kind| kind["kind"].is_null());
                let list = if normal {
                    &mut package.normal
                } else {
                    &mut package.other
                };
                list.push(text(&dependency["pkg"])?);
            }
        }
        Some(Metadata {
            packages,
            members: json["workspace_members"]
                .as_array()?
                .iter()
                .filter_map(text)
                .collect(),
            target_directory: json["target_directory"].as_str()?.into(),
        })
    }

    /// Where cargo puts what it builds.
    #[must_use]
    pub fn target_directory(&self) -> &std::path::Path {
        &self.target_directory
    }

    /// All packages, ours and others'.
    pub fn packages(&self) -> impl Iterator<Item = &Package> {
        self.packages.values()
    }

    /// The packages of the workspace.
    pub fn members(&self) -> impl Iterator<Item = &Package> {
        self.members.iter().filter_map(|id| self.packages.get(id))
    }

    /// The packages that a package names itself, those of its tests and build script included.
    pub fn direct<'a>(&'a self, package: &'a Package) -> impl Iterator<Item = &'a Package> {
        package
            .normal
            .iter()
            .chain(&package.other)
            .filter_map(|id| self.packages.get(id))
    }

    /// The packages that a package names itself and needs to run.
    pub fn direct_normal<'a>(&'a self, package: &'a Package) -> impl Iterator<Item = &'a Package> {
        package.normal.iter().filter_map(|id| self.packages.get(id))
    }

    /// Everything that runs in a package: for each name the chain of names that leads to it.
    #[must_use]
    pub fn reachable(&self, package: &Package) -> BTreeMap<String, Vec<String>> {
        let mut found = BTreeMap::new();
        let mut open = vec![(package, vec![package.name.clone()])];
        while let Some((package, chain)) = open.pop() {
            for next in self.direct_normal(package) {
                let mut chain = chain.clone();
                chain.push(next.name.clone());
                if found.insert(next.name.clone(), chain.clone()).is_none() {
                    open.push((next, chain));
                }
            }
        }
        found
    }
}

fn text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}
