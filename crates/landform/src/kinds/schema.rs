//! Schemas of kinds as a server's OpenAPI document has them: with references, which are followed here.

use serde_json::Value;

/// References are followed so far.
const DEEPEST: usize = 16;

/// A schema within its document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schema<'a> {
    document: &'a Value,
    /// What stands at the place, with the description for there.
    at: &'a Value,
    /// What it refers to.
    target: &'a Value,
    /// The last name of a reference, such as ObjectMeta.
    name: Option<&'a str>,
}

impl<'a> Schema<'a> {
    pub(super) fn new(document: &'a Value, at: &'a Value) -> Self {
        let (mut target, mut name) = (at, None);
        for _ in 0..DEEPEST {
            // A description beside a reference is put as allOf with one entry.
            let all = target["allOf"].as_array().map_or(&[][..], Vec::as_slice);
            let inner = match all {
                [only] => only,
                _ => target,
            };
            let Some(path) = inner["$ref"].as_str() else {
                break;
            };
            let key = path.rsplit('/').next().unwrap_or_default();
            name = key.rsplit('.').next();
            target = &document["components"]["schemas"][key];
        }
        Self {
            document,
            at,
            target,
            name,
        }
    }

    /// The schema of a kind in a document.
    pub(super) fn of_kind(
        document: &'a Value,
        group: &str,
        version: &str,
        kind: &str,
    ) -> Option<Self> {
        let schemas = document["components"]["schemas"].as_object()?;
        let is_it = |schema: &&Value| {
            let kinds = schema["x-kubernetes-group-version-kind"].as_array();
            kinds.into_iter().flatten().any(|found| {
                found["group"] == group && found["version"] == version && found["kind"] == kind
            })
        };
        let mut found = schemas.values().filter(is_it);
        found.next().map(|schema| Self::new(document, schema))
    }

    /// What a field means.
    pub(super) fn description(&self) -> &'a str {
        let here = self.at["description"].as_str();
        let there = || self.target["description"].as_str();
        here.or_else(there).unwrap_or("<empty>")
    }

    /// What the type that a field refers to means by itself.
    pub(super) fn description_of_type(&self) -> Option<&'a str> {
        let inner = self.innermost();
        let there = inner.target["description"].as_str();
        there.filter(|there| inner.name.is_some() && *there != self.description())
    }

    /// The fields, and whether each must be there; below lists and maps those of their entries.
    pub(super) fn fields(&self) -> Vec<(&'a str, bool, Self)> {
        let inner = self.innermost();
        let required = inner.target["required"].as_array();
        let is_required =
            |name: &str| required.is_some_and(|all| all.iter().any(|one| one == name));
        let fields = inner.target["properties"].as_object().into_iter().flatten();
        let mut fields: Vec<_> = fields
            .map(|(name, schema)| {
                (
                    name.as_str(),
                    is_required(name),
                    Self::new(self.document, schema),
                )
            })
            .collect();
        fields.sort_by_key(|(name, ..)| *name);
        fields
    }

    /// What is in a list or map, to the last.
    fn innermost(self) -> Self {
        let mut inner = self;
        for _ in 0..DEEPEST {
            match inner.entries() {
                Some(entries) => inner = entries,
                None => break,
            }
        }
        inner
    }

    fn entries(&self) -> Option<Self> {
        let items = &self.target["items"];
        let values = &self.target["additionalProperties"];
        let below = [items, values]
            .into_iter()
            .find(|below| below.is_object())?;
        Some(Self::new(self.document, below))
    }

    /// The type as kubectl writes it: `string`, `[]Container`, `map[string]string`.
    pub(super) fn type_name(&self) -> String {
        self.type_within(0)
    }

    fn type_within(&self, depth: usize) -> String {
        if depth > DEEPEST {
            return "Object".to_owned();
        }
        let word = self.target["type"].as_str().unwrap_or_default();
        match (word, self.entries()) {
            ("array", Some(entries)) => format!("[]{}", entries.type_within(depth + 1)),
            ("object", Some(entries)) if self.target["properties"].is_null() => {
                format!("map[string]{}", entries.type_within(depth + 1))
            }
            ("" | "object", _) => match self.name {
                Some(name) => name.to_owned(),
                None if self.target["x-kubernetes-int-or-string"] == true => {
                    "IntOrString".to_owned()
                }
                None => "Object".to_owned(),
            },
            (_, _) if self.target["format"] == "int-or-string" => "IntOrString".to_owned(),
            (word, _) => word.to_owned(),
        }
    }

    /// The values that are allowed, when they are counted.
    pub(super) fn values(&self) -> Vec<String> {
        let values = self.target["enum"].as_array().into_iter().flatten();
        values.map(crate::output::jsonpath::plain).collect()
    }

    /// What it is when it isn't said.
    pub(super) fn default_value(&self) -> Option<String> {
        let found = self
            .at
            .get("default")
            .or_else(|| self.target.get("default"))?;
        let is_empty = found.as_object().is_some_and(serde_json::Map::is_empty);
        (!is_empty).then(|| crate::output::jsonpath::plain(found))
    }

    /// What a type refers to, so that a circle can be seen.
    pub(super) fn identity(&self) -> *const Value {
        std::ptr::from_ref(self.innermost().target)
    }
}
