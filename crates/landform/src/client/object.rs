//! Which objects a command line means: `KIND/NAME`, `KIND NAME…`, files, or all that a selector fits.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use landform_explain::ObjectRef;
use landform_explain::object::KindRef;
use landform_yaml::Budget;
use serde_json::Value;

use crate::AnyError;
use crate::client::kind::{Kind, Kinds};
use crate::client::{get, in_query, is_everywhere, is_of_system};
use crate::exit::misused;

/// An object that a command works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) kind: Kind,
    /// Empty for objects of the cluster.
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl Place {
    pub(crate) fn new(kind: Kind, namespace: &str, name: &str) -> Self {
        let namespace = if kind.namespaced { namespace } else { "" };
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            kind,
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> String {
        self.kind.path(&self.namespace, &self.name)
    }

    /// How views name it.
    pub(crate) fn view_path(&self) -> String {
        self.kind.view_path(&self.namespace, &self.name)
    }

    /// How explanations name it.
    pub(crate) fn object_ref(&self) -> ObjectRef {
        let kind = KindRef {
            api_version: self.kind.api_version(),
            kind: self.kind.kind.clone(),
            plural: self.kind.plural.clone(),
            namespaced: self.kind.namespaced,
        };
        ObjectRef::new(&kind, &self.namespace, &self.name)
    }

    /// `Installation/db`
    pub(crate) fn short(&self) -> String {
        format!("{}/{}", self.kind.kind, self.name)
    }

    /// `Installation db in namespace default`
    pub(crate) fn title(&self) -> String {
        if self.namespace.is_empty() {
            format!("{} {}", self.kind.kind, self.name)
        } else {
            format!(
                "{} {} in namespace {}",
                self.kind.kind, self.name, self.namespace
            )
        }
    }

    /// The sentence for an object that isn't there.
    pub(crate) fn missing(&self) -> String {
        format!(
            "there is no {}: `landform get {}` lists those that there are",
            self.title(),
            self.kind.singular
        )
    }
}

/// Manifests in files.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct FileArgs {
    /// A file or directory with manifests (YAML or JSON), or - for stdin; may be given several times.
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR|-")]
    pub(crate) files: Vec<PathBuf>,
    /// Also what is in directories below.
    #[arg(short = 'R', long, requires = "files")]
    pub(crate) recursive: bool,
}

/// What words of a command line name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// Objects, each by kind and name.
    Named(Vec<(String, String)>),
    /// Kinds.
    Kinds(Vec<String>),
}

/// Reads `KIND[,KIND]`, `KIND NAME…` and `KIND/NAME…`.
pub(crate) fn words(words: &[String]) -> Result<Words, AnyError> {
    if words.iter().any(|word| word.contains('/')) {
        let mut named = Vec::new();
        for word in words {
            match word.split_once('/') {
                Some((kind, name))
                    if !kind.is_empty() && !name.is_empty() && !name.contains('/') =>
                {
                    named.push((kind.to_owned(), name.to_owned()));
                }
                _ => {
                    return misused(format!(
                        "{word:?} is no KIND/NAME: write all objects as KIND/NAME, or KIND NAME…"
                    ));
                }
            }
        }
        return Ok(Words::Named(named));
    }
    let Some((kinds, names)) = words.split_first() else {
        return misused("name a kind, KIND/NAME, or files with -f");
    };
    let kinds: Vec<String> = kinds
        .split(',')
        .filter(|kind| !kind.is_empty())
        .map(str::to_owned)
        .collect();
    if names.is_empty() {
        return Ok(Words::Kinds(kinds));
    }
    let named = kinds.iter().flat_map(|kind| {
        let names = names.iter();
        names.map(move |name| (kind.clone(), name.clone()))
    });
    Ok(Words::Named(named.collect()))
}

/// The objects that words or files name; a kind alone is refused.
pub(crate) async fn places(
    client: &kube::Client,
    given: &[String],
    files: &FileArgs,
) -> Result<Vec<Place>, AnyError> {
    let kinds = Kinds::load(client).await?;
    let namespace = client.default_namespace();
    if !files.files.is_empty() {
        if !given.is_empty() {
            return misused("either name objects or give files with -f, not both");
        }
        let manifests = read(files)?;
        let places = manifests.iter().map(|manifest| {
            let kind = kinds
                .of_manifest(&manifest.api_version(), &manifest.kind())
                .ok_or_else(|| manifest.unknown_kind())?;
            Ok(manifest.place(kind, namespace))
        });
        return places.collect();
    }
    match words(given)? {
        Words::Named(named) => {
            let mut places = Vec::new();
            for (kind, name) in &named {
                let place = Place::new(kinds.find(kind)?, namespace, name);
                places.push(located(client, place).await?);
            }
            Ok(places)
        }
        Words::Kinds(kinds) => misused(format!(
            "which {0}? Write {0}/NAME; `landform get {0}` lists them",
            kinds.join(",")
        )),
    }
}

/// An object of a project may be in any of the project's namespaces: where it is, when it is in one only.
async fn located(client: &kube::Client, place: Place) -> Result<Place, AnyError> {
    if !is_everywhere() || !place.kind.namespaced {
        return Ok(place);
    }
    let selector = in_query(&format!("metadata.name={}", place.name));
    let path = format!("{}?fieldSelector={selector}", place.kind.list_path(""));
    let found = get(client, &path).await?.unwrap_or_default();
    let items = found["items"].as_array().into_iter().flatten();
    let namespaces: Vec<&str> = items
        .filter_map(|item| item["metadata"]["namespace"].as_str())
        .filter(|namespace| !is_of_system(namespace))
        .collect();
    match namespaces.as_slice() {
        [] => Ok(place),
        [only] => Ok(Place::new(place.kind, only, &place.name)),
        several => Err(format!(
            "there is a {} in the namespaces {}: say which one with -n",
            place.short(),
            several.join(", ")
        )
        .into()),
    }
}

/// A manifest, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Manifest {
    pub(crate) value: Value,
    /// `FILE:LINE`
    pub(crate) at: String,
}

impl Manifest {
    fn text(&self, field: &str) -> String {
        self.value[field].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn api_version(&self) -> String {
        self.text("apiVersion")
    }

    pub(crate) fn kind(&self) -> String {
        self.text("kind")
    }

    pub(crate) fn name(&self) -> &str {
        let name = self.value["metadata"]["name"].as_str();
        name.unwrap_or_default()
    }

    /// Where its object is or will be.
    pub(crate) fn place(&self, kind: Kind, namespace: &str) -> Place {
        let own = self.value["metadata"]["namespace"].as_str();
        Place::new(kind, own.unwrap_or(namespace), self.name())
    }

    pub(crate) fn unknown_kind(&self) -> String {
        format!(
            "{}: the server doesn't have a kind {} in {}: apply its CustomResourceDefinition first, or correct the name",
            self.at,
            self.kind(),
            self.api_version()
        )
    }
}

/// All manifests of files and directories; a List is what is in it.
pub(crate) fn read(args: &FileArgs) -> Result<Vec<Manifest>, AnyError> {
    let mut manifests = Vec::new();
    for file in &args.files {
        if file == Path::new("-") {
            let mut text = String::new();
            std::io::stdin().lock().read_to_string(&mut text)?;
            parse("stdin", &text, &mut manifests)?;
            continue;
        }
        let mut found = Vec::new();
        collect(file, args.recursive, &mut found)?;
        for file in found {
            let unreadable = |error| format!("can't read {}: {error}", file.display());
            let text = std::fs::read_to_string(&file).map_err(unreadable)?;
            parse(&file.display().to_string(), &text, &mut manifests)?;
        }
    }
    if manifests.is_empty() {
        return Err("there is no manifest in what -f names".into());
    }
    Ok(manifests)
}

/// The files that a path names, in the order of their names.
fn collect(path: &Path, recursive: bool, found: &mut Vec<PathBuf>) -> Result<(), AnyError> {
    let unreadable = |error| format!("can't read {}: {error}", path.display());
    if !std::fs::metadata(path).map_err(unreadable)?.is_dir() {
        found.push(path.to_owned());
        return Ok(());
    }
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path).map_err(unreadable)? {
        entries.push(entry.map_err(unreadable)?.path());
    }
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            if recursive {
                collect(&entry, recursive, found)?;
            }
        } else if entry
            .extension()
            .is_some_and(|end| end == "yaml" || end == "yml" || end == "json")
        {
            found.push(entry);
        }
    }
    Ok(())
}

/// The manifests of one text.
pub(crate) fn parse(
    source: &str,
    text: &str,
    manifests: &mut Vec<Manifest>,
) -> Result<(), AnyError> {
    let documents = landform_yaml::parse_many(text, &Budget::FILE);
    let documents = documents.map_err(|error| format!("{source}: {error}"))?;
    for document in documents {
        let at = format!("{source}:{}", document.line);
        expand(document.value, &at, manifests)?;
    }
    Ok(())
}

fn expand(value: Value, at: &str, manifests: &mut Vec<Manifest>) -> Result<(), AnyError> {
    let kind = value["kind"].as_str().unwrap_or_default();
    if kind.is_empty() || value["apiVersion"].as_str().unwrap_or_default().is_empty() {
        return Err(format!(
            "{at}: this is no manifest: it needs apiVersion, kind and metadata.name"
        )
        .into());
    }
    if kind.ends_with("List") && value["items"].is_array() {
        let items = value["items"].as_array().into_iter().flatten();
        return items
            .cloned()
            .try_for_each(|item| expand(item, at, manifests));
    }
    let metadata = &value["metadata"];
    let is_named = |field: &str| {
        metadata[field]
            .as_str()
            .is_some_and(|name| !name.is_empty())
    };
    if !is_named("name") && !is_named("generateName") {
        return Err(format!("{at}: {kind} has no metadata.name: give it one").into());
    }
    manifests.push(Manifest {
        value,
        at: at.to_owned(),
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_words(text: &str) -> Result<Words, AnyError> {
        let given: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        words(&given)
    }

    #[test]
    fn words_are_kinds_names_or_both() {
        let named = |pairs: &[(&str, &str)]| {
            let pairs = pairs.iter();
            Words::Named(
                pairs
                    .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
                    .collect(),
            )
        };
        assert_eq!(read_words("cm/a").unwrap(), named(&[("cm", "a")]));
        assert_eq!(
            read_words("cm/a secret/b").unwrap(),
            named(&[("cm", "a"), ("secret", "b")])
        );
        assert_eq!(
            read_words("cm a b").unwrap(),
            named(&[("cm", "a"), ("cm", "b")])
        );
        assert_eq!(
            read_words("cm,secret").unwrap(),
            Words::Kinds(vec!["cm".into(), "secret".into()])
        );
        for wrong in ["", "cm/a b", "cm/", "/a", "cm/a/b"] {
            assert!(read_words(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn manifests_come_from_documents_lists_and_json() {
        let mut found = Vec::new();
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n# nothing\n---\n\
                    apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: b}}\n";
        parse("x.yaml", text, &mut found).unwrap();
        parse(
            "y.json",
            r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "c-"}}"#,
            &mut found,
        )
        .unwrap();
        let names: Vec<_> = found
            .iter()
            .map(|manifest| (manifest.kind(), manifest.name().to_owned()))
            .collect();
        let expected = [("ConfigMap", "a"), ("Secret", "b"), ("Pod", "")];
        let expected = expected.map(|(kind, name)| (kind.to_owned(), name.to_owned()));
        assert_eq!(names, expected);
        assert_eq!(found[0].at, "x.yaml:1");
    }

    #[test]
    fn what_is_no_manifest_is_refused_with_its_place() {
        for (text, piece) in [
            ("a: 1", "x.yaml:1: this is no manifest"),
            (
                "apiVersion: v1\nkind: ConfigMap",
                "ConfigMap has no metadata.name",
            ),
            ("a: [", "x.yaml: "),
        ] {
            let error = parse("x.yaml", text, &mut Vec::new()).unwrap_err();
            assert!(error.to_string().contains(piece), "{error}");
        }
    }
}
