//! Packages for tests, written as a few lines of text.

use std::collections::BTreeMap;
use std::sync::Arc;

use landform_api::GroupVersionKind;
use semver::Version;

use crate::edges::{Edges, Replaces};
use crate::index::CatalogInput;
use crate::model::{Bundle, Channel, Content, Entry, Package, Payload, RequiredPackage};
use crate::range::Range;

pub(crate) fn version(text: &str) -> Version {
    Version::parse(text).unwrap()
}

/// As in `group/Kind/v1`.
pub(crate) fn kind(text: &str) -> GroupVersionKind {
    let mut parts = text.split('/').map(str::to_owned);
    let mut next = || parts.next().unwrap();
    let (group, kind, version) = (next(), next(), next());
    GroupVersionKind {
        group,
        version,
        kind,
    }
}

/// Each line is `CHANNEL,… VERSION key=value…`; the bundle's name is `PACKAGE.vVERSION`, an underscore
/// in a range is a space, and the first channel is the default. `absent` leaves the bundle out.
pub(crate) fn package(name: &str, text: &str) -> Package {
    let mut bundles: Vec<Bundle> = Vec::new();
    let mut entries: Vec<(String, Arc<str>, Edges)> = Vec::new();
    let mut default_channel = None;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let mut words = line.split_whitespace();
        let channels = words.next().unwrap();
        let number = words.next().unwrap();
        let bundle_name: Arc<str> = format!("{name}.v{number}").into();
        let mut edges = Edges::default();
        let mut bundle = Bundle {
            name: bundle_name.clone(),
            version: version(number),
            owned: Vec::new(),
            required: Vec::new(),
            packages: Vec::new(),
            min_server_version: None,
            deprecation: None,
            file: "test".into(),
            payload: Payload::Facts,
        };
        let mut absent = false;
        for word in words {
            let (key, value) = word.split_once('=').unwrap_or((word, ""));
            let range = || Range::parse(&value.replace('_', " ")).unwrap();
            match key {
                "replaces" => edges.replaces = Some(Replaces::parse(&value.replace('_', " "))),
                "skips" => edges.skips = value.split(',').map(Into::into).collect(),
                "range" => edges.skip_range = Some(range()),
                "owns" => bundle.owned = value.split(',').map(kind).collect(),
                "needs" => bundle.required = value.split(',').map(kind).collect(),
                "wants" => {
                    for one in value.split(',') {
                        let (package, range) = one.split_once(':').unwrap();
                        bundle.packages.push(RequiredPackage {
                            package: package.into(),
                            range: Range::parse(&range.replace('_', " ")).unwrap(),
                        });
                    }
                }
                "server" => bundle.min_server_version = Some(version(value)),
                "deprecated" => bundle.deprecation = Some("old".to_owned()),
                "absent" => absent = true,
                other => panic!("{other}"),
            }
        }
        for channel in channels.split(',') {
            default_channel.get_or_insert_with(|| Arc::from(channel));
            entries.push((channel.to_owned(), bundle_name.clone(), edges.clone()));
        }
        if !absent {
            bundles.push(bundle);
        }
    }
    bundles.sort_by(|one, other| one.version.cmp(&other.version));
    let mut channels: BTreeMap<Arc<str>, Channel> = BTreeMap::new();
    for (channel, name, edges) in entries {
        let bundle = bundles.iter().position(|bundle| bundle.name == name);
        let key: Arc<str> = channel.into();
        let channel = channels.entry(key.clone()).or_insert_with(|| Channel {
            name: key,
            entries: Vec::new(),
            deprecation: None,
        });
        channel.entries.push(Entry {
            name,
            bundle,
            edges,
        });
    }
    let digest = text.bytes().fold(17_u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(byte.into())
    });
    Package {
        name: name.into(),
        default_channel,
        channels,
        bundles,
        deprecation: None,
        digest,
    }
}

pub(crate) fn content<'a>(packages: impl IntoIterator<Item = (&'a str, &'a str)>) -> Arc<Content> {
    let packages = packages.into_iter();
    Arc::new(Content {
        packages: packages
            .map(|(name, text)| (name.into(), Arc::new(package(name, text))))
            .collect(),
        problems: Vec::new(),
    })
}

pub(crate) fn catalog(name: &str, priority: i32, content: Arc<Content>) -> CatalogInput {
    CatalogInput {
        name: name.into(),
        priority,
        labels: BTreeMap::new(),
        only_by_name: false,
        content,
    }
}
