//! A project's settings: what `landform.yaml` says, and what the object `Project` says beyond it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use landform_api::duration;
use landform_api::project::{
    self, Deletions, Link, ProjectProblem, ProjectSpec, SETTINGS_FILE, SettingsSaid,
};
use landform_yaml::{Budget, parse_one, parse_placed};
use serde_json::{Map, Value, json};

use crate::place;

/// The longest settings that are read.
const LONGEST: u64 = 1 << 20;

/// The namespace of objects that name none, by default.
pub const DEFAULT_NAMESPACE: &str = "default";

/// How long an object may be missing from the files before it is deleted, by default: editors, a
/// checkout, and people who move files need a moment.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(2);

/// What holds for all files of a project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// The project's name, if `landform.yaml` says one.
    pub name: Option<String>,
    /// The namespace of objects that name none, if it is given.
    pub namespace: Option<String>,
    /// What templates see as `.Values`.
    pub values: Map<String, Value>,
    /// What is none of the project's.
    pub ignore: Vec<String>,
    /// Addresses to show.
    pub links: Vec<Link>,
    /// How long an object may be missing from the files before it is deleted, if that is given.
    pub grace: Option<Duration>,
    /// What happens after that to an object with something below it, if that is given.
    pub deletions: Option<Deletions>,
    /// What is protected from deletion.
    pub protect: Vec<String>,
}

impl Settings {
    /// Reads the `landform.yaml` of a directory; a directory without one has the defaults.
    ///
    /// # Errors
    /// What is wrong with the file, each thing with its place.
    pub fn load(directory: &Path) -> Result<Self, Vec<ProjectProblem>> {
        text_of(directory)?.map_or_else(|| Ok(Self::default()), |text| parse(&text))
    }

    /// These settings, with those of the object on top: who writes the object knows the place where the
    /// directory is used.
    #[must_use]
    pub fn with(mut self, spec: &ProjectSpec) -> Self {
        self.namespace = spec.namespace.clone().or(self.namespace);
        for (name, value) in &spec.values {
            merge(
                self.values.entry(name.clone()).or_insert(Value::Null),
                value,
            );
        }
        self.ignore.extend(spec.ignore.iter().cloned());
        self.links.extend(spec.links.iter().cloned());
        self.grace = grace_of(spec).or(self.grace);
        self.deletions = spec.deletions.or(self.deletions);
        self.protect.extend(spec.protect.iter().cloned());
        self
    }

    /// Whether an object is protected from deletion, as far as the settings say: by its kind, its name, or both.
    pub(crate) fn protects(&self, kind: &str, name: &str) -> bool {
        self.protect
            .iter()
            .any(|entry| match entry.split_once('/') {
                Some((of, called)) => of.eq_ignore_ascii_case(kind) && called == name,
                None => entry.eq_ignore_ascii_case(kind) || entry == name,
            })
    }

    /// Whether the project itself is. Its name alone may be that of another object.
    pub(crate) fn protects_project(&self, name: &str) -> bool {
        let mut entries = self.protect.iter();
        entries.any(|entry| match entry.split_once('/') {
            Some((of, called)) => of.eq_ignore_ascii_case(project::KIND) && called == name,
            None => entry.eq_ignore_ascii_case(project::KIND),
        })
    }

    /// Whether nothing is missing that others said: objects would move, or come and go, because of it. So the
    /// namespace must be the same, and values and exceptions must still be there.
    pub(crate) fn keeps(&self, others: &SettingsSaid) -> bool {
        let has = |name: &String| self.values.contains_key(name);
        self.namespace == others.namespace
            && others.values.iter().all(has)
            && others.ignore.iter().all(|text| self.ignore.contains(text))
            && others
                .protect
                .iter()
                .all(|text| self.protect.contains(text))
    }

    /// What must be remembered of these settings: all whose loss would matter, without the values themselves.
    pub(crate) fn said(&self) -> SettingsSaid {
        SettingsSaid {
            namespace: self.namespace.clone(),
            values: self.values.keys().cloned().collect(),
            ignore: self.ignore.clone(),
            grace: self.grace.map(|grace| format!("{}ms", grace.as_millis())),
            protect: self.protect.clone(),
        }
    }

    /// The namespace of objects that name none.
    #[must_use]
    pub fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE)
    }

    /// How long an object may be missing from the files before it is deleted.
    pub(crate) fn grace_ms(&self) -> u64 {
        let grace = self.grace.unwrap_or(DEFAULT_GRACE);
        u64::try_from(grace.as_millis()).unwrap_or(u64::MAX)
    }

    /// What templates see.
    pub(crate) fn data(&self, project: &str) -> Value {
        json!({
            "Values": self.values,
            "Project": {"name": project, "namespace": self.namespace()},
        })
    }
}

fn grace_of(spec: &ProjectSpec) -> Option<Duration> {
    spec.grace.as_deref().and_then(duration::parse)
}

/// The text of the settings; none when there are none.
fn text_of(directory: &Path) -> Result<Option<String>, Vec<ProjectProblem>> {
    let path = directory.join(SETTINGS_FILE);
    let fail = |message: String| Err(vec![place::of_file(SETTINGS_FILE, message)]);
    match std::fs::metadata(&path) {
        Err(_) if !path.is_symlink() => return Ok(None),
        Err(error) => return fail(format!("can't be read: {error}")),
        Ok(found) if !found.is_file() => return fail("is no file: remove it or rename it".into()),
        Ok(found) if found.len() > LONGEST => {
            return fail(format!("has more than {LONGEST} bytes: make it shorter"));
        }
        Ok(_) => {}
    }
    let inside = directory.canonicalize().and_then(|root| {
        let real = path.canonicalize()?;
        Ok(real.starts_with(root))
    });
    match inside {
        Ok(true) => {}
        Ok(false) => return fail("this link leads out of the project: copy the file".into()),
        Err(error) => return fail(format!("can't be read: {error}")),
    }
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(Some(text)),
        Err(error) => fail(format!("can't be read: {error}")),
    }
}

fn parse(text: &str) -> Result<Settings, Vec<ProjectProblem>> {
    let limits = Budget::FILE;
    let refused = |error: landform_yaml::Error| {
        let place = (error.line, error.column);
        vec![place::at(SETTINGS_FILE, text, place, error.message)]
    };
    if landform_yaml::parse_many(text, &limits)
        .map_err(refused)?
        .is_empty()
    {
        return Ok(Settings::default());
    }
    let placed = parse_placed(text, &limits).map_err(refused)?;
    // Read twice: here a word such as `yes` means what it means in all other files.
    let value = parse_one(text, &limits).map_err(refused)?;
    let problems: Vec<_> = check(&value)
        .into_iter()
        .map(|(pointer, message)| {
            let place = nearest(&placed.places, &pointer);
            place::at(SETTINGS_FILE, text, place, message)
        })
        .collect();
    if !problems.is_empty() {
        return Err(problems);
    }
    let wrong = |error: serde_json::Error| {
        let message = format!("spec can't be read: {error}");
        vec![place::at(
            SETTINGS_FILE,
            text,
            nearest(&placed.places, "/spec"),
            message,
        )]
    };
    let spec = value.get("spec").cloned().unwrap_or_else(|| json!({}));
    let spec: ProjectSpec = serde_json::from_value(spec).map_err(wrong)?;
    let name = value["metadata"]["name"].as_str().map(ToOwned::to_owned);
    Ok(Settings {
        name,
        grace: grace_of(&spec),
        deletions: spec.deletions,
        protect: spec.protect,
        namespace: spec.namespace,
        values: spec.values.into_iter().collect(),
        ignore: spec.ignore,
        links: spec.links,
    })
}

/// What is wrong with the settings: where (a JSON pointer), and what.
fn check(value: &Value) -> Vec<(String, String)> {
    let mut wrong = Vec::new();
    let Value::Object(fields) = value else {
        let message = "this must be an object: apiVersion, kind: Project, metadata and spec";
        return vec![(String::new(), message.into())];
    };
    let api_version = format!("{}/{}", project::GROUP, project::VERSION);
    for (field, wanted) in [
        ("apiVersion", api_version.as_str()),
        ("kind", project::KIND),
    ] {
        if fields.get(field).and_then(Value::as_str) != Some(wanted) {
            wrong.push((format!("/{field}"), format!("{field} must be {wanted}")));
        }
    }
    unknown(
        "",
        fields,
        &["apiVersion", "kind", "metadata", "spec"],
        &mut wrong,
    );
    let metadata = ["name", "labels", "annotations"];
    object("/metadata", fields.get("metadata"), &metadata, &mut wrong);
    if value["metadata"]
        .get("name")
        .is_some_and(|name| !name.is_string())
    {
        wrong.push((
            "/metadata/name".into(),
            "metadata.name must be a text".into(),
        ));
    }
    let spec = [
        "namespace",
        "values",
        "ignore",
        "links",
        "grace",
        "deletions",
        "protect",
    ];
    if value["spec"].get("directory").is_some() {
        let message = "spec.directory is not given here: it is the directory that this file is in";
        wrong.push(("/spec/directory".into(), message.into()));
    }
    object("/spec", fields.get("spec"), &spec, &mut wrong);
    type Fits = fn(&Value) -> bool;
    let kinds: [(&str, Fits, &str); 7] = [
        ("namespace", Value::is_string, "a text"),
        ("values", Value::is_object, "a mapping"),
        ("ignore", is_texts, "a list of texts"),
        ("links", Value::is_array, "a list"),
        ("grace", is_duration, "a time such as 500ms, 2s or 1m30s"),
        ("deletions", is_deletions, "Approve or Grace"),
        (
            "protect",
            is_texts,
            "a list of kinds (Installation), names (db) or both (Installation/db)",
        ),
    ];
    for (field, fits, what) in kinds {
        if value["spec"].get(field).is_some_and(|found| !fits(found)) {
            wrong.push((
                format!("/spec/{field}"),
                format!("spec.{field} must be {what}"),
            ));
        }
    }
    let links = value["spec"]["links"].as_array().into_iter().flatten();
    for (at, link) in links.enumerate() {
        let pointer = format!("/spec/links/{at}");
        object(&pointer, Some(link), &["name", "url"], &mut wrong);
        if !link["name"].is_string() || !link["url"].is_string() {
            wrong.push((pointer, "a link needs the texts name and url".into()));
        }
    }
    wrong
}

fn is_duration(value: &Value) -> bool {
    value.as_str().and_then(duration::parse).is_some()
}

fn is_deletions(value: &Value) -> bool {
    value == "Approve" || value == "Grace"
}

fn is_texts(value: &Value) -> bool {
    let items = value.as_array();
    items.is_some_and(|items| items.iter().all(Value::is_string))
}

fn object(pointer: &str, value: Option<&Value>, known: &[&str], wrong: &mut Vec<(String, String)>) {
    match value {
        None | Some(Value::Null) => {}
        Some(Value::Object(fields)) => unknown(pointer, fields, known, wrong),
        Some(_) => {
            let field = pointer.trim_start_matches('/').replace('/', ".");
            wrong.push((pointer.to_owned(), format!("{field} must be a mapping")));
        }
    }
}

fn unknown(
    pointer: &str,
    fields: &Map<String, Value>,
    known: &[&str],
    wrong: &mut Vec<(String, String)>,
) {
    for field in fields.keys() {
        // It has a message of its own.
        if known.contains(&field.as_str()) || (pointer == "/spec" && field == "directory") {
            continue;
        }
        let whole = format!("{pointer}/{field}");
        let name = whole.trim_start_matches('/').replace('/', ".");
        let meant = known.iter().find(|known| alike(known, field));
        let hint = match meant {
            Some(meant) => format!("did you mean {meant}?"),
            None => format!("there are {}", known.join(", ")),
        };
        let whole = format!("{pointer}/{}", field.replace('~', "~0").replace('/', "~1"));
        wrong.push((whole, format!("there is no field {name}: {hint}")));
    }
}

/// Whether two words differ in little: at most two letters more, less or others.
fn alike(left: &str, right: &str) -> bool {
    let (left, right) = (left.to_lowercase(), right.to_lowercase());
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    if left.len().abs_diff(right.len()) > 2 {
        return false;
    }
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, one) in left.iter().enumerate() {
        let mut before = row[0];
        row[0] = at + 1;
        for (other, two) in right.iter().enumerate() {
            let change = before + usize::from(one != two);
            before = row[other + 1];
            row[other + 1] = change.min(before + 1).min(row[other] + 1);
        }
    }
    row[right.len()] <= 2
}

/// The place of a value, or of the next thing around it that has one.
fn nearest(places: &BTreeMap<String, (usize, usize)>, pointer: &str) -> (usize, usize) {
    let mut pointer = pointer;
    loop {
        if let Some(place) = places.get(pointer) {
            return *place;
        }
        match pointer.rfind('/') {
            Some(at) => pointer = &pointer[..at],
            None => return (1, 1),
        }
    }
}

/// Puts values on top of others: mappings field by field, all else as a whole.
fn merge(under: &mut Value, over: &Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (name, value) in over {
                merge(under.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (under, over) => *under = over.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "apiVersion: landform.dev/v1alpha1\nkind: Project\n";

    #[test]
    fn settings_are_read_and_the_object_comes_on_top() {
        let text = format!(
            "{HEAD}metadata: {{name: shop}}\nspec:\n  namespace: web\n  values: {{a: {{b: 1, c: 2}}, on: yes}}\n  ignore: [old]\n  links: [{{name: Shop, url: http://localhost}}]\n  grace: 500ms\n"
        );
        let settings = parse(&text).unwrap();
        assert_eq!(settings.name.as_deref(), Some("shop"));
        assert_eq!(settings.namespace(), "web");
        assert_eq!(settings.links[0].name, "Shop");
        assert_eq!(settings.grace_ms(), 500);
        let spec = ProjectSpec {
            namespace: Some("test".into()),
            values: [("a".to_owned(), json!({"b": 3}))].into(),
            ignore: vec!["new".into()],
            grace: Some("1m".into()),
            ..ProjectSpec::default()
        };
        let both = settings.with(&spec);
        assert_eq!(both.namespace(), "test");
        assert_eq!(both.values["a"], json!({"b": 3, "c": 2}));
        assert_eq!(both.ignore, ["old", "new"]);
        assert_eq!(both.grace_ms(), 60_000);
        assert_eq!(parse("# nothing\n"), Ok(Settings::default()));
        let none = Settings::default();
        assert_eq!((none.namespace(), none.grace_ms()), ("default", 2_000));
    }

    #[test]
    fn what_is_wrong_has_its_place_and_says_what_to_do() {
        let table = [
            (
                format!("{HEAD}spec:\n  namspace: x\n"),
                (4, 13),
                "there is no field spec.namspace: did you mean namespace?",
            ),
            (
                format!("{HEAD}spec:\n  colour: x\n"),
                (4, 11),
                "there is no field spec.colour: there are namespace, values, ignore, links, grace, deletions, protect",
            ),
            (
                format!("{HEAD}spec:\n  values: [1]\n"),
                (4, 11),
                "spec.values must be a mapping",
            ),
            (
                format!("{HEAD}spec:\n  directory: /etc\n"),
                (4, 14),
                "spec.directory is not given here: it is the directory that this file is in",
            ),
            (
                "kind: Project\napiVersion: v1\n".into(),
                (2, 13),
                "apiVersion must be landform.dev/v1alpha1",
            ),
            (
                "- 1\n".into(),
                (1, 1),
                "this must be an object: apiVersion, kind: Project, metadata and spec",
            ),
            (
                format!("{HEAD}spec:\n  links: [{{name: a}}]\n"),
                (4, 11),
                "a link needs the texts name and url",
            ),
            (
                format!("{HEAD}spec:\n  grace: soon\n"),
                (4, 10),
                "spec.grace must be a time such as 500ms, 2s or 1m30s",
            ),
        ];
        for (text, place, message) in table {
            let problems = parse(&text).unwrap_err();
            let found = &problems[0];
            assert_eq!((found.line, found.column), place, "{text}");
            assert_eq!(found.message, message);
            assert_eq!(found.excerpt, text.lines().nth(place.0 - 1).unwrap());
        }
        let problems = parse("kind: Project\n  a: [").unwrap_err();
        assert_eq!((problems.len(), problems[0].line), (1, 2));
    }
}
