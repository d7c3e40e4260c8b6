//! A number that moves exactly when a package does, the same on every machine and in every build.

use sha2::{Digest as _, Sha256};

use crate::edges::{Edges, Replaces};
use crate::model::{Bundle, Package, Payload};

/// The digest of a package, without the one that it has.
#[must_use]
pub fn of(package: &Package) -> u64 {
    let mut feed = Feed(Sha256::new());
    feed.text(&package.name);
    feed.maybe(package.default_channel.as_deref());
    feed.maybe(package.deprecation.as_deref());
    feed.count(package.channels.len());
    for channel in package.channels.values() {
        feed.text(&channel.name);
        feed.maybe(channel.deprecation.as_deref());
        feed.count(channel.entries.len());
        for entry in &channel.entries {
            feed.text(&entry.name);
            feed.edges(&entry.edges);
        }
    }
    feed.count(package.bundles.len());
    for bundle in &package.bundles {
        feed.bundle(bundle);
    }
    let digest = feed.0.finalize();
    digest
        .iter()
        .take(8)
        .fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// Every part is preceded by its length, so that no two packages feed the same bytes.
struct Feed(Sha256);

impl Feed {
    fn count(&mut self, count: usize) {
        self.0.update((count as u64).to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.update(text.as_bytes());
    }

    fn maybe(&mut self, text: Option<&str>) {
        self.count(usize::from(text.is_some()));
        self.text(text.unwrap_or_default());
    }

    fn edges(&mut self, edges: &Edges) {
        match &edges.replaces {
            None => self.count(0),
            Some(Replaces::Name(name)) => {
                self.count(1);
                self.text(name);
            }
            Some(Replaces::Version(version)) => {
                self.count(2);
                self.text(&version.to_string());
            }
            Some(Replaces::Range(range)) => {
                self.count(3);
                self.text(&range.to_string());
            }
        }
        self.count(edges.skips.len());
        for skipped in &edges.skips {
            self.text(skipped);
        }
        self.maybe(
            edges
                .skip_range
                .as_ref()
                .map(ToString::to_string)
                .as_deref(),
        );
    }

    fn bundle(&mut self, bundle: &Bundle) {
        self.text(&bundle.name);
        self.text(&bundle.version.to_string());
        for kinds in [&bundle.owned, &bundle.required] {
            self.count(kinds.len());
            for kind in kinds {
                self.text(&kind.group);
                self.text(&kind.version);
                self.text(&kind.kind);
            }
        }
        self.count(bundle.packages.len());
        for needed in &bundle.packages {
            self.text(&needed.package);
            self.text(&needed.range.to_string());
        }
        let server = bundle.min_server_version.as_ref().map(ToString::to_string);
        self.maybe(server.as_deref());
        self.maybe(bundle.deprecation.as_deref());
        self.text(&bundle.file);
        match &bundle.payload {
            Payload::Facts => self.count(0),
            Payload::Image(image) => {
                self.count(1);
                self.text(image);
            }
            Payload::Manifest(manifest) => {
                self.count(2);
                self.text(&manifest.spec);
                self.count(manifest.definitions.len());
                for definition in &manifest.definitions {
                    self.text(definition);
                }
            }
        }
    }
}
