//! File-based catalogs of OLM: documents with a `schema`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use landform_api::GroupVersionKind;
use landform_yaml::Budget;
use semver::Version;
use serde_json::Value;

use super::document::{Document, Source};
use super::draft::{BundleDraft, ChannelDraft, Deprecation, EntryDraft, Needs, Said};
use super::problem::{Note, Problems};
use super::value::{items, kind, no_version, server_version, text};
use super::{definition, payload, service_version};
use crate::edges::{Edges, Replaces};
use crate::model::{Bundle, Payload};
use crate::range::Range;

/// Reads a document with a `schema`. Those of other tools are no problem: the format allows them.
pub(super) fn read(document: &Document<'_>, problems: &mut Problems) -> Option<Said> {
    let Document { value, source } = document;
    let schema = text(value, "schema");
    if !matches!(
        schema,
        "olm.package" | "olm.channel" | "olm.bundle" | "olm.deprecations"
    ) {
        if matches!(
            schema,
            "olm.semver" | "olm.composite" | "olm.template.basic"
        ) {
            let reason = format!(
                "{schema} is a template, not a catalog: it is left out; give what `opm` makes of it"
            );
            problems.error(source.place("/schema"), "", reason);
        }
        return None;
    }
    let (package, name) = match schema {
        "olm.package" => (text(value, "name"), "-"),
        "olm.deprecations" => (text(value, "package"), "-"),
        _ => (text(value, "package"), text(value, "name")),
    };
    let missing = match (package, name) {
        ("", _) if schema == "olm.package" => Some("name"),
        ("", _) => Some("package"),
        (_, "") => Some("name"),
        _ => None,
    };
    if let Some(missing) = missing {
        let reason = format!("this {schema} has no `{missing}`: it is left out");
        problems.error(source.place(""), package, reason);
        return None;
    }
    match schema {
        "olm.package" => Some(Said::Package {
            name: package.to_owned(),
            default_channel: text(value, "defaultChannel").to_owned(),
        }),
        "olm.channel" => Some(Said::Channel(channel(value, source, problems))),
        "olm.deprecations" => Some(Said::Deprecations {
            package: package.to_owned(),
            entries: deprecations(value, source, problems),
        }),
        _ => Some(bundle(value, source, problems)),
    }
}

fn channel(value: &Value, source: &Source<'_>, problems: &mut Problems) -> ChannelDraft {
    let (package, name) = (text(value, "package"), text(value, "name"));
    let mut entries: Vec<EntryDraft> = Vec::new();
    for (number, entry) in items(value, "entries").enumerate() {
        let pointer = format!("/entries/{number}");
        let named = text(entry, "name");
        if named.is_empty() {
            let reason = format!("an entry of channel {name} has no `name`: it is left out");
            problems.error(source.place(&pointer), package, reason);
            continue;
        }
        entries.push(EntryDraft {
            name: named.to_owned(),
            edges: edges(entry, &pointer, source, package, problems),
            place: source.place(&pointer),
        });
    }
    ChannelDraft {
        package: package.to_owned(),
        name: name.to_owned(),
        entries,
    }
}

fn edges(
    entry: &Value,
    pointer: &str,
    source: &Source<'_>,
    package: &str,
    problems: &mut Problems,
) -> Edges {
    let replaces = text(entry, "replaces");
    let written = text(entry, "skipRange");
    let mut skip_range = None;
    if !written.trim().is_empty() {
        match Range::parse(written) {
            Ok(range) => skip_range = Some(range),
            Err(error) => {
                let reason = format!(
                    "{error}: {} replaces nothing by this skipRange; it stays in the channel",
                    text(entry, "name")
                );
                problems.error(
                    source.place(&format!("{pointer}/skipRange")),
                    package,
                    reason,
                );
            }
        }
    }
    Edges {
        replaces: (!replaces.is_empty()).then(|| Replaces::Name(replaces.into())),
        skips: items(entry, "skips")
            .filter_map(Value::as_str)
            .map(Into::into)
            .collect(),
        skip_range,
    }
}

fn deprecations(value: &Value, source: &Source<'_>, problems: &mut Problems) -> Vec<Deprecation> {
    let mut found = Vec::new();
    for (number, entry) in items(value, "entries").enumerate() {
        let place = source.place(&format!("/entries/{number}"));
        let reference = entry.get("reference").unwrap_or(&Value::Null);
        let (schema, message) = (text(reference, "schema"), text(entry, "message").trim());
        if !matches!(schema, "olm.package" | "olm.channel" | "olm.bundle") {
            let reason = format!(
                "a deprecation refers to {schema:?}, not to olm.package, olm.channel or olm.bundle: it \
                 is left out"
            );
            problems.error(place, text(value, "package"), reason);
            continue;
        }
        found.push(Deprecation {
            schema: schema.to_owned(),
            name: text(reference, "name").to_owned(),
            message: if message.is_empty() {
                "it is deprecated"
            } else {
                message
            }
            .to_owned(),
            place,
        });
    }
    found
}

/// What the properties of a bundle say together.
#[derive(Default)]
struct Properties {
    versions: Vec<(String, String)>,
    owned: Vec<GroupVersionKind>,
    needs: Needs,
    min_server_version: Option<Version>,
    objects: Vec<(Value, String)>,
    /// Some objects can't be read: nothing can be installed.
    damaged: bool,
}

fn bundle(value: &Value, source: &Source<'_>, problems: &mut Problems) -> Said {
    let (package, name) = (text(value, "package"), text(value, "name"));
    let place = source.place("");
    let mut properties = properties(value, source);
    let lost = |reason: String, problems: &mut Problems| {
        problems.error(place.as_str(), package, reason);
        Said::Lost {
            package: package.to_owned(),
            name: name.to_owned(),
        }
    };
    for note in std::mem::take(&mut properties.needs.notes) {
        problems.note(package, note);
    }
    let Some((of, version)) = properties.versions.first() else {
        let reason = format!(
            "bundle {name} has no property olm.package, so its version is not known: it is left out"
        );
        return lost(reason, problems);
    };
    if of != package || properties.versions.len() > 1 {
        let reason = format!(
            "bundle {name} is of package {package}, and its properties olm.package say {}: it is left \
             out",
            properties
                .versions
                .iter()
                .map(|(of, version)| format!("{of} {version}"))
                .collect::<Vec<_>>()
                .join(", ")
        );
        return lost(reason, problems);
    }
    let Ok(version) = Version::parse(version) else {
        let reason = format!("bundle {name} is left out: {}", no_version(version));
        return lost(reason, problems);
    };
    let image = text(value, "image");
    let mut bundle = Bundle {
        name: name.into(),
        version,
        owned: properties.owned,
        required: properties.needs.kinds.clone(),
        packages: properties.needs.packages.clone(),
        min_server_version: properties.min_server_version,
        deprecation: None,
        file: source.file().into(),
        payload: match image {
            "" => Payload::Facts,
            image => Payload::Image(image.into()),
        },
    };
    if !properties.damaged && !properties.objects.is_empty() {
        with_objects(
            &mut bundle,
            package,
            &properties.needs,
            &properties.objects,
            &place,
            problems,
        );
    }
    Said::Bundle(Box::new(BundleDraft {
        package: package.to_owned(),
        bundle,
        place,
        membership: None,
    }))
}

fn properties(value: &Value, source: &Source<'_>) -> Properties {
    let mut found = Properties::default();
    for (number, property) in items(value, "properties").enumerate() {
        let place = || source.place(&format!("/properties/{number}"));
        let value = property.get("value").unwrap_or(&Value::Null);
        match text(property, "type") {
            "olm.package" => found
                .versions
                .push((text(value, "packageName").to_owned(), text(value, "version").to_owned())),
            "olm.gvk" => match kind(value) {
                Some(kind) if !found.owned.contains(&kind) => found.owned.push(kind),
                Some(_) => {}
                None => found.needs.notes.push(Note::error(
                    place(),
                    "an olm.gvk has no version or no kind: it is left out, and nobody finds the bundle \
                     by it",
                )),
            },
            "olm.gvk.required" => found.needs.kind(value, &place()),
            "olm.package.required" => found.needs.package(value, &place()),
            "olm.constraint" => found.needs.constraint(value, &place()),
            "olm.csv.metadata" => {
                found.min_server_version = server_version(text(value, "minKubeVersion"));
            }
            "olm.bundle.object" => match object(value) {
                Ok(object) => found.objects.push((object, place())),
                Err(reason) => {
                    found.damaged = true;
                    let reason = format!(
                        "an olm.bundle.object can't be read: {reason}; the version is listed, and \
                         can't be installed"
                    );
                    found.needs.notes.push(Note::error(place(), reason));
                }
            },
            // Properties of others are allowed.
            _ => {}
        }
    }
    found
}

/// The object in a property.
fn object(value: &Value) -> Result<Value, String> {
    let data = text(value, "data");
    if data.is_empty() {
        return Err(match text(value, "ref") {
            "" => "it has no `data`".to_owned(),
            file => {
                format!("it refers to the file {file}, which is not supported: put it in `data`")
            }
        });
    }
    let bytes = STANDARD
        .decode(data.trim())
        .map_err(|_| "its `data` is no base64".to_owned())?;
    let text = String::from_utf8(bytes).map_err(|_| "its `data` is no UTF-8 text".to_owned())?;
    landform_yaml::parse_one(&text, &Budget::FILE)
        .map_err(|error| format!("its `data` is neither JSON nor YAML: {}", error.message))
}

/// Completes a bundle with the objects that it brings along.
fn with_objects(
    bundle: &mut Bundle,
    package: &str,
    needs: &Needs,
    objects: &[(Value, String)],
    place: &str,
    problems: &mut Problems,
) {
    let mut versions = Vec::new();
    let mut definitions = Vec::new();
    let mut others = Vec::new();
    for (object, place) in objects {
        let source = Source::whole(place);
        if service_version::is_service_version(object) {
            versions.push(service_version::read(object, &source));
        } else if definition::is_definition(object) {
            definitions.push(definition::read(object, &source));
        } else {
            others.push(super::title(object));
        }
    }
    let count = versions.len();
    let Some(mut version) = versions.pop().filter(|_| count == 1) else {
        let reason = format!(
            "bundle {} has {count} ClusterServiceVersions among its objects instead of one: it is \
             listed, and can't be installed",
            bundle.name
        );
        problems.error(place, package, reason);
        return;
    };
    // The catalog's own edges and version count here, not those of the object.
    version.spec.version = bundle.version.to_string();
    let definitions: Vec<_> = definitions.iter().collect();
    let made =
        payload::of_service_version(&mut version, package, needs, &definitions, &others, place);
    bundle.payload = made;
    if bundle.owned.is_empty() {
        bundle.owned = super::owned(&version.spec);
    }
    if bundle.min_server_version.is_none() {
        bundle.min_server_version = version.min_server_version;
    }
    for note in version.notes {
        problems.note(package, note);
    }
}
