//! From single documents to drafts of packages: what lies in one directory is put together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::draft::{
    Annotations, BundleDraft, ChannelDraft, DefinitionDraft, Deprecation, Item, Membership, Needs,
    OwnDraft, PackageManifest, Said, ServiceVersion, UpdateGraph,
};
use super::problem::{Note, Problems};
use super::value::server_version;
use super::{owned, payload};
use crate::edges::Replaces;
use crate::model::Bundle;

/// All that was said of a package.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Default channels of `olm.package` documents, each with its place.
    pub(super) declared: Vec<(String, String)>,
    /// Channels, each with its place.
    pub(super) channels: Vec<(ChannelDraft, String)>,
    pub(super) bundles: Vec<BundleDraft>,
    /// Names of bundles that were left out, and reported.
    pub(super) lost: BTreeSet<String>,
    pub(super) deprecations: Vec<Deprecation>,
    pub(super) graph: Option<UpdateGraph>,
}

/// What lies in a bundle's directory.
#[derive(Default)]
struct Folder {
    versions: Vec<(ServiceVersion, Arc<str>, String)>,
    own: Vec<(OwnDraft, Arc<str>, String)>,
    definitions: Vec<(DefinitionDraft, Arc<str>)>,
    others: Vec<String>,
    annotations: Vec<(Annotations, String)>,
    needs: Vec<Needs>,
}

/// What is said of all bundles below a directory.
#[derive(Default)]
struct Above {
    manifests: Vec<(PackageManifest, String)>,
    graph: Option<UpdateGraph>,
}

/// Documents, by what they are said of.
#[derive(Default)]
struct Gathered {
    drafts: BTreeMap<String, Draft>,
    folders: BTreeMap<String, Folder>,
    above: BTreeMap<String, Above>,
}

impl Gathered {
    fn draft(&mut self, package: &str) -> &mut Draft {
        self.drafts.entry(package.to_owned()).or_default()
    }

    fn folder(&mut self, file: &str) -> &mut Folder {
        let root = root_of(directory_of(file));
        self.folders.entry(root.to_owned()).or_default()
    }

    fn above(&mut self, file: &str) -> &mut Above {
        self.above.entry(directory_of(file).to_owned()).or_default()
    }

    fn take(&mut self, item: Item) {
        let Item {
            file, place, said, ..
        } = item;
        match said {
            Said::Package {
                name,
                default_channel,
            } => {
                self.draft(&name).declared.push((default_channel, place));
            }
            Said::Channel(channel) => {
                let package = channel.package.clone();
                self.draft(&package).channels.push((channel, place));
            }
            Said::Bundle(bundle) => {
                let package = bundle.package.clone();
                self.draft(&package).bundles.push(*bundle);
            }
            Said::Lost { package, name } => {
                self.draft(&package).lost.insert(name);
            }
            Said::Deprecations { package, entries } => {
                self.draft(&package).deprecations.extend(entries);
            }
            Said::Own(own) => self.folder(&file).own.push((*own, file.clone(), place)),
            Said::ServiceVersion(version) => {
                self.folder(&file)
                    .versions
                    .push((*version, file.clone(), place));
            }
            Said::Definition(found) => self.folder(&file).definitions.push((found, file.clone())),
            Said::Other(title) => self.folder(&file).others.push(title),
            Said::Annotations(found) => self.folder(&file).annotations.push((found, place)),
            Said::Dependencies(needs) => self.folder(&file).needs.push(needs),
            Said::PackageManifest(found) => self.above(&file).manifests.push((found, place)),
            Said::Graph(graph) => self.above(&file).graph = Some(graph),
        }
    }
}

/// Puts documents together, which come in the order of their files.
pub(super) fn assemble(items: Vec<Item>, problems: &mut Problems) -> BTreeMap<String, Draft> {
    let mut gathered = Gathered::default();
    for item in items {
        gathered.take(item);
    }
    let Gathered {
        mut drafts,
        folders,
        above,
    } = gathered;
    // Packages whose channels a package manifest says.
    let mut old: BTreeSet<String> = BTreeSet::new();
    for (root, folder) in folders {
        let Folder {
            versions,
            own,
            definitions,
            others,
            annotations,
            needs,
        } = folder;
        for (own, file, place) in own {
            let draft = drafts.entry(own.spec.package.clone()).or_default();
            let bundle = own_bundle(own, &file, place, &definitions, problems);
            draft.bundles.push(bundle);
        }
        let beside = Beside {
            root: &root,
            definitions: &definitions,
            others: &others,
            needs: &needs,
        };
        let said_above = [root.as_str(), parent_of(&root)].map(|directory| above.get(directory));
        let Some(belongs) = belongs(&annotations, &said_above, &versions, problems) else {
            continue;
        };
        let package = belongs.package.clone();
        let draft = drafts.entry(package.clone()).or_default();
        let graph = said_above.iter().flatten().find_map(|above| above.graph);
        draft.graph = draft.graph.or(graph);
        for (version, file, place) in versions {
            let name = version.name.clone();
            match beside.bundle(version, &file, place, &belongs, problems) {
                Some(bundle) => draft.bundles.push(bundle),
                None => {
                    draft.lost.insert(name);
                }
            }
        }
        if annotations.is_empty() {
            old.insert(package);
        }
    }
    for above in above.into_values() {
        for (manifest, place) in above.manifests {
            if let Some(draft) = drafts.get_mut(&manifest.package)
                && old.contains(&manifest.package)
            {
                old_channels(&manifest, &place, draft, problems);
            }
        }
    }
    drafts
}

/// The package of a directory's versions.
fn belongs(
    annotations: &[(Annotations, String)],
    above: &[Option<&Above>],
    versions: &[(ServiceVersion, Arc<str>, String)],
    problems: &mut Problems,
) -> Option<Annotations> {
    let (first, _, place) = versions.first()?;
    if let Some((found, place)) = annotations.first() {
        if versions.len() > 1 || annotations.len() > 1 {
            let reason = format!(
                "a bundle has one ClusterServiceVersion and one file of annotations, and here are {} and \
                 {}: all versions get the channels of this file; give each a directory of its own",
                versions.len(),
                annotations.len()
            );
            problems.warning(place.as_str(), &found.package, reason);
        }
        return Some(found.clone());
    }
    let manifests = above.iter().flatten().flat_map(|above| &above.manifests);
    if let Some((manifest, _)) = manifests.into_iter().next() {
        return Some(Annotations {
            package: manifest.package.clone(),
            channels: Vec::new(),
            default_channel: manifest.default_channel.clone(),
        });
    }
    let reason = format!(
        "nothing says which package {} belongs to: it is left out; give its bundle a file \
         metadata/annotations.yaml with operators.operatorframework.io.bundle.package.v1",
        first.name
    );
    problems.error(place.as_str(), "", reason);
    None
}

/// What lies beside a ClusterServiceVersion.
struct Beside<'a> {
    root: &'a str,
    definitions: &'a [(DefinitionDraft, Arc<str>)],
    others: &'a [String],
    needs: &'a [Needs],
}

impl Beside<'_> {
    fn bundle(
        &self,
        mut version: ServiceVersion,
        file: &Arc<str>,
        place: String,
        belongs: &Annotations,
        problems: &mut Problems,
    ) -> Option<BundleDraft> {
        let package = &belongs.package;
        let mut needs = Needs::default();
        for found in self.needs {
            needs.kinds.extend(found.kinds.iter().cloned());
            needs.packages.extend(found.packages.iter().cloned());
            needs.notes.extend(found.notes.iter().cloned());
        }
        version.notes.append(&mut needs.notes);
        if version.name.is_empty() {
            version.version = None;
            let reason = "the ClusterServiceVersion has no metadata.name: it is left out";
            version.notes.push(Note::error(place.as_str(), reason));
        }
        let Some(number) = version.version.clone() else {
            report(package, version.notes, problems);
            return None;
        };
        let definitions = chosen(&version.spec, self.definitions, file, &mut version.notes);
        let payload = payload::of_service_version(
            &mut version,
            package,
            &needs,
            &definitions,
            self.others,
            &place,
        );
        let required = version.spec.requirements.definitions.iter();
        let bundle = Bundle {
            name: version.name.as_str().into(),
            version: number,
            owned: owned(&version.spec),
            required: required.map(super::kind_of).collect(),
            packages: needs.packages,
            min_server_version: version.min_server_version,
            deprecation: None,
            file: file.clone(),
            payload,
        };
        report(package, version.notes, problems);
        Some(BundleDraft {
            package: package.clone(),
            bundle,
            place,
            membership: Some(Membership {
                channels: belongs.channels.clone(),
                default_channel: belongs.default_channel.clone(),
                edges: version.edges,
                home: Some(parent_of(self.root).to_owned()),
            }),
        })
    }
}

fn own_bundle(
    own: OwnDraft,
    file: &Arc<str>,
    place: String,
    definitions: &[(DefinitionDraft, Arc<str>)],
    problems: &mut Problems,
) -> BundleDraft {
    let OwnDraft {
        name,
        version,
        spec,
        definitions: inner,
        membership,
        needs,
        mut notes,
    } = own;
    // What stands in the version itself comes first.
    let mut found: Vec<&DefinitionDraft> = inner.iter().collect();
    found.extend(
        chosen(&spec, definitions, file, &mut notes)
            .into_iter()
            .filter(|other| {
                !inner
                    .iter()
                    .any(|inner| inner.group == other.group && inner.kind == other.kind)
            }),
    );
    let payload = payload::payload(&spec, &found, &place, &mut notes);
    let bundle = Bundle {
        name: name.into(),
        version,
        owned: owned(&spec),
        required: needs.kinds,
        packages: needs.packages,
        min_server_version: spec
            .requirements
            .min_server_version
            .as_deref()
            .and_then(server_version),
        deprecation: None,
        file: file.clone(),
        payload,
    };
    report(&spec.package, notes, problems);
    BundleDraft {
        package: spec.package,
        bundle,
        place,
        membership: Some(membership),
    }
}

fn report(package: &str, notes: Vec<Note>, problems: &mut Problems) {
    for note in notes {
        problems.note(package, note);
    }
}

/// The definitions of a directory for one of its files: those of the same file come before others, and two
/// others that differ are told.
fn chosen<'a>(
    spec: &landform_api::catalog::OperatorVersionSpec,
    definitions: &'a [(DefinitionDraft, Arc<str>)],
    file: &Arc<str>,
    notes: &mut Vec<Note>,
) -> Vec<&'a DefinitionDraft> {
    let mut found: Vec<&DefinitionDraft> = Vec::new();
    let own_file = definitions.iter().filter(|(_, of)| of == file);
    let others = definitions.iter().filter(|(_, of)| of != file);
    for (definition, of) in own_file.chain(others) {
        let same = |other: &&&DefinitionDraft| {
            other.group == definition.group && other.kind == definition.kind
        };
        let Some(first) = found.iter().find(same) else {
            found.push(definition);
            continue;
        };
        let wanted = spec
            .owned
            .iter()
            .any(|kind| kind.group == definition.group && kind.kind == definition.kind);
        let of_this_file = first.place.split(':').next() == Some(&**file);
        if wanted && of != file && !of_this_file && first.text != definition.text {
            notes.push(Note::warning(
                definition.place.as_str(),
                format!(
                    "{} in {} is also defined in {}, differently, and that one is taken: put the \
                     definition into the file of the version that owns it",
                    definition.kind, definition.group, first.place
                ),
            ));
        }
    }
    found
}

/// The channels of the oldest layout: from each head down along `replaces`, with what is skipped.
fn old_channels(
    manifest: &PackageManifest,
    place: &str,
    draft: &mut Draft,
    problems: &mut Problems,
) {
    for (channel, head) in &manifest.channels {
        let mut next = vec![head.clone()];
        let mut seen = BTreeSet::new();
        while let Some(name) = next.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let found = draft
                .bundles
                .iter_mut()
                .find(|draft| *draft.bundle.name == *name);
            let Some(membership) = found.and_then(|found| found.membership.as_mut()) else {
                if name == *head && !draft.lost.contains(&name) {
                    let reason = format!(
                        "channel {channel} begins with {head}, which isn't there: the channel is left \
                         out"
                    );
                    problems.error(place, &manifest.package, reason);
                }
                continue;
            };
            membership.channels.push(channel.clone());
            if let Some(Replaces::Name(name)) = &membership.edges.replaces {
                next.push(name.to_string());
            }
            next.extend(membership.edges.skips.iter().map(ToString::to_string));
        }
    }
}

/// The directory of a file.
fn directory_of(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(directory, _)| directory)
}

fn parent_of(directory: &str) -> &str {
    directory_of(directory)
}

/// The directory of a bundle whose files are in this one.
fn root_of(directory: &str) -> &str {
    match directory.rsplit('/').next() {
        Some("manifests" | "metadata") => parent_of(directory),
        _ => directory,
    }
}
