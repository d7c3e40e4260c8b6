//! Where a catalog's content comes from.

use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use landform_api::catalog::CatalogSpec;
use landform_catalog::{Content, read};
use landform_engine::{Context, Failure, Right, fetch};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::facts::hash_of;

/// A catalog from a web server may be so long.
const HTTP_BYTES: usize = 256 << 20;
/// So many files of a directory are looked at for changes.
const FILES: usize = 200_000;

/// Says whether a source is as it was when it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint(u64);

/// Where the content is.
pub(super) enum Source {
    Inline(Vec<Value>),
    Directory(PathBuf),
    ConfigMap { namespace: String, name: String },
    Http { url: String, digest: String },
}

impl Source {
    /// What the spec says.
    ///
    /// # Errors
    /// What is wrong with it, for people.
    pub(super) fn of(spec: &CatalogSpec, directory: Option<&Path>) -> Result<Self, String> {
        let given = [
            !spec.inline.is_empty(),
            spec.directory.is_some(),
            spec.config_map.is_some(),
            spec.http.is_some(),
        ];
        if given.iter().filter(|given| **given).count() != 1 {
            return Err(
                "spec must have exactly one of inline, directory, configMap and http".into(),
            );
        }
        if let Some(given) = &spec.directory {
            return below(directory, &given.path).map(Self::Directory);
        }
        if let Some(given) = &spec.config_map {
            if given.namespace.is_empty() || given.name.is_empty() {
                return Err("spec.configMap needs namespace and name".into());
            }
            return Ok(Self::ConfigMap {
                namespace: given.namespace.clone(),
                name: given.name.clone(),
            });
        }
        if let Some(given) = &spec.http {
            let digits = given.digest.strip_prefix("sha256:");
            let digits = digits.filter(|digits| {
                digits.len() == 64 && digits.chars().all(|c| c.is_ascii_hexdigit())
            });
            let Some(digits) = digits else {
                return Err(
                    "spec.http.digest must be sha256: and 64 hexadecimal digits (`sha256sum FILE`)"
                        .into(),
                );
            };
            return Ok(Self::Http {
                url: given.url.clone(),
                digest: digits.to_lowercase(),
            });
        }
        Ok(Self::Inline(spec.inline.clone()))
    }

    /// The ConfigMap that it is in.
    pub(super) fn config_map(&self) -> Option<(String, String)> {
        match self {
            Self::ConfigMap { namespace, name } => Some((namespace.clone(), name.clone())),
            Self::Inline(_) | Self::Directory(_) | Self::Http { .. } => None,
        }
    }

    /// Whether nobody tells of its changes.
    pub(super) fn is_polled(&self) -> bool {
        matches!(self, Self::Directory(_))
    }

    /// Whether trying again may help, without anybody changing an object.
    pub(super) fn may_recover(&self) -> bool {
        matches!(self, Self::Http { .. } | Self::Directory(_))
    }

    /// Reads it, unless it is as it was.
    ///
    /// # Errors
    /// Why it can't be read, for people.
    pub(super) async fn read(
        &self,
        context: &Context,
        known: Option<&Fingerprint>,
    ) -> Result<Option<(Fingerprint, Content)>, String> {
        let is_known = |fingerprint: Fingerprint| known == Some(&fingerprint);
        match self {
            Self::Inline(documents) => {
                let text: Vec<_> = documents.iter().map(ToString::to_string).collect();
                let fingerprint = Fingerprint(hash_of(&text));
                if is_known(fingerprint) {
                    return Ok(None);
                }
                Ok(Some((fingerprint, read::read_inline(documents))))
            }
            Self::Directory(path) => {
                let (path, known) = (path.clone(), known.copied());
                let reading = tokio::task::spawn_blocking(move || from_disk(&path, known));
                reading.await.map_err(|error| error.to_string())?
            }
            Self::ConfigMap { namespace, name } => {
                let told = |failure: Failure| failure.to_string();
                let right = Right::new("get", "", "configmaps", namespace, name);
                if let Some(denied) = context.missing([right]).await.map_err(told)? {
                    return Err(denied.to_string());
                }
                let client = context.acting().map_err(told)?;
                let api: Api<ConfigMap> = Api::namespaced(client, namespace);
                let found = api.get_opt(name).await;
                let found = found.map_err(|error| told(error.into()))?;
                let found = found.ok_or_else(|| {
                    format!("there is no ConfigMap {name} in namespace {namespace}")
                })?;
                let texts = found.data.unwrap_or_default().into_iter();
                let mut files: Vec<_> = texts.map(|(key, text)| (key, text.into_bytes())).collect();
                let bytes = found.binary_data.unwrap_or_default().into_iter();
                files.extend(bytes.map(|(key, bytes)| (key, bytes.0)));
                let fingerprint = Fingerprint(hash_of(&files));
                if is_known(fingerprint) {
                    return Ok(None);
                }
                Ok(Some((fingerprint, read::read(files))))
            }
            Self::Http { url, digest } => {
                let fingerprint = Fingerprint(hash_of(&(url, digest)));
                if is_known(fingerprint) {
                    return Ok(None);
                }
                let bytes = fetch(url, HTTP_BYTES)
                    .await
                    .map_err(|error| format!("{url}: {error}"))?;
                let found = format!("{:x}", Sha256::digest(&bytes));
                if found != *digest {
                    return Err(format!(
                        "{url} has the digest sha256:{found}, not the one of spec.http.digest: nothing of it is used"
                    ));
                }
                let name = url.rsplit('/').next().unwrap_or(url).to_owned();
                Ok(Some((fingerprint, read::read([(name, bytes)]))))
            }
        }
    }
}

/// A path below the server's directory of catalogs.
fn below(directory: Option<&Path>, path: &str) -> Result<PathBuf, String> {
    let Some(directory) = directory else {
        return Err(
            "spec.directory needs a directory of catalogs: start the server with --catalogs DIRECTORY".into(),
        );
    };
    let below = Path::new(path);
    let plain = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
    if !below.components().all(plain) {
        return Err(format!(
            "spec.directory.path {path:?} must be below the server's directory of catalogs: neither absolute nor with .."
        ));
    }
    let place = directory.join(below);
    // A link may lead anywhere; what isn't there leads nowhere.
    if let (Ok(directory), Ok(real)) = (directory.canonicalize(), place.canonicalize())
        && !real.starts_with(directory)
    {
        return Err(format!(
            "spec.directory.path {path:?} is a link that leads out of the server's directory of catalogs"
        ));
    }
    Ok(place)
}

fn from_disk(
    path: &Path,
    known: Option<Fingerprint>,
) -> Result<Option<(Fingerprint, Content)>, String> {
    let mut files = Vec::new();
    look(path, &mut files).map_err(|error| format!("{}: {error}", path.display()))?;
    files.sort();
    let fingerprint = Fingerprint(hash_of(&files));
    if known == Some(fingerprint) {
        return Ok(None);
    }
    let content = read::from_path(path).map_err(|error| error.to_string())?;
    Ok(Some((fingerprint, content)))
}

/// Path, length, time and inode of every file.
fn look(path: &Path, files: &mut Vec<(PathBuf, u64, u128, u64)>) -> std::io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let found = std::fs::symlink_metadata(path)?;
    let found = if found.is_symlink() {
        std::fs::metadata(path)?
    } else {
        found
    };
    if files.len() >= FILES {
        return Ok(());
    }
    let modified = found.modified().ok();
    let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let modified = modified.map_or(0, |time| time.as_nanos());
    files.push((path.to_owned(), found.len(), modified, found.ino()));
    if found.is_dir() {
        for entry in std::fs::read_dir(path)? {
            let entry = entry?;
            // A link may lead back up.
            if !entry.file_type()?.is_symlink() || entry.path().is_file() {
                look(&entry.path(), files)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_out_of_the_directory_is_refused_and_one_inside_is_followed() {
        let root = tempfile::tempdir().unwrap();
        let (inside, outside) = (root.path().join("inside"), root.path().join("outside"));
        fs::create_dir_all(inside.join("apps")).unwrap();
        fs::create_dir_all(outside.join("apps")).unwrap();
        symlink(outside.join("apps"), inside.join("out")).unwrap();
        symlink(&outside, inside.join("above")).unwrap();
        symlink("apps", inside.join("same")).unwrap();
        for (path, expected) in [
            ("apps", None),
            ("same", None),
            ("out", Some("leads out")),
            ("above/apps", Some("leads out")),
            ("../outside/apps", Some("neither absolute")),
            ("/etc", Some("neither absolute")),
        ] {
            let error = below(Some(&inside), path).err();
            match expected {
                None => assert_eq!(error, None, "{path}"),
                Some(words) => assert!(error.is_some_and(|e| e.contains(words)), "{path}"),
            }
        }
    }
}
