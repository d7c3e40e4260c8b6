//! Bodies: JSON, YAML or protobuf into a value, within limits, with duplicate fields noticed.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use landform_api::budget::{Exceeded, LIST_CELLS, MAP_CELLS, PROBLEMS_LISTED_MAX};
use landform_api::{Budget, FieldPath};

use crate::error::{ApiError, Reason, Result};

/// The most bytes of a body.
pub const BODY_BYTES: usize = Budget::OBJECT.bytes;

/// A decoded body.
#[derive(Debug)]
pub struct Decoded {
    /// What it says.
    pub value: Value,
    /// The paths of the first hundred fields that stand twice; the last value of each counts.
    pub duplicates: Vec<String>,
}

/// Which form a body has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyForm {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
    /// The protobuf form of Kubernetes, which only built-in kinds have.
    Protobuf,
}

impl BodyForm {
    /// Reads a `Content-Type`; absent is JSON.
    pub fn from_content_type(header: Option<&str>) -> Result<Self> {
        match media_type(header.unwrap_or("application/json")).as_str() {
            "application/json" | "" => Ok(Self::Json),
            "application/yaml" | "application/x-yaml" | "text/yaml" => Ok(Self::Yaml),
            "application/vnd.kubernetes.protobuf" => Ok(Self::Protobuf),
            other => Err(ApiError::new(
                Reason::UnsupportedMediaType,
                format!(
                    "the body is {other:?}, which this server does not read: send application/json, application/yaml or application/vnd.kubernetes.protobuf"
                ),
            )),
        }
    }
}

/// The media type of a `Content-Type`, without parameters. Its letters may be large or small (RFC 9110).
pub(crate) fn media_type(header: &str) -> String {
    let media = header.split(';').next().unwrap_or_default();
    media.trim().to_ascii_lowercase()
}

/// Decodes a body.
pub fn decode(bytes: &[u8], form: BodyForm) -> Result<Decoded> {
    match form {
        BodyForm::Json => decode_json(bytes),
        BodyForm::Yaml => {
            let text = std::str::from_utf8(bytes).map_err(|error| {
                ApiError::bad_request(format!("the body is not UTF-8: {error}"))
            })?;
            let value = landform_yaml::parse_one(text, &Budget::OBJECT).map_err(|error| {
                ApiError::bad_request(format!("the body is not valid YAML: {error}"))
            })?;
            Ok(Decoded {
                value,
                duplicates: Vec::new(),
            })
        }
        BodyForm::Protobuf => decode_protobuf(bytes),
    }
}

/// Decodes the protobuf form of Kubernetes. A kind that has none (a custom resource) gets 415, so
/// that the client knows to send JSON.
fn decode_protobuf(bytes: &[u8]) -> Result<Decoded> {
    use landform_protobuf::Error;
    let value = landform_protobuf::decode(bytes).map_err(|error| {
        let message = format!("the body is not valid protobuf: {error}");
        match error {
            Error::UnknownKind { .. } | Error::ContentEncoding(_) | Error::ContentType(_) => {
                ApiError::new(Reason::UnsupportedMediaType, message)
            }
            Error::Table(_) => ApiError::internal(message),
            Error::NoPrefix | Error::NoKind | Error::Malformed { .. } => {
                ApiError::bad_request(message)
            }
        }
    })?;
    Ok(Decoded {
        value,
        duplicates: Vec::new(),
    })
}

/// Decodes JSON.
pub fn decode_json(bytes: &[u8]) -> Result<Decoded> {
    let mut walk = Walk {
        path: FieldPath::root(),
        depth: 0,
        cells: 0,
        has_too_many: false,
        duplicates: Vec::new(),
    };
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Node(&mut walk)
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| {
            if walk.has_too_many {
                let message = format!("the body is too large: {error}");
                return ApiError::new(Reason::RequestEntityTooLarge, message);
            }
            ApiError::bad_request(format!("the body is not valid JSON: {error}"))
        })?;
    Ok(Decoded {
        value,
        duplicates: walk.duplicates,
    })
}

/// Where a decoding walk is, and what it noticed.
struct Walk {
    path: FieldPath,
    depth: usize,
    cells: usize,
    has_too_many: bool,
    duplicates: Vec<String>,
}

impl Walk {
    /// Enters a map or a list, which takes this many cells beside those of what is in it.
    fn enter<E: serde::de::Error>(&mut self, cells: usize) -> Result<(), E> {
        self.count(cells - 1)?;
        self.depth += 1;
        if self.depth > Budget::OBJECT.depth {
            return Err(self.exceeds(Exceeded::Depth(Budget::OBJECT.depth)));
        }
        Ok(())
    }

    fn count<E: serde::de::Error>(&mut self, cells: usize) -> Result<(), E> {
        self.cells += cells;
        if self.cells > Budget::OBJECT.cells {
            self.has_too_many = true;
            return Err(self.exceeds(Exceeded::Cells(Budget::OBJECT.cells)));
        }
        Ok(())
    }

    fn exceeds<E: serde::de::Error>(&self, limit: Exceeded) -> E {
        E::custom(format!("{limit}, at {:?}", self.path.as_str()))
    }
}

/// Decodes one value below the walk's present path.
struct Node<'a>(&'a mut Walk);

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.0.count::<D::Error>(1)?;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        self.0.enter::<A::Error>(LIST_CELLS)?;
        let mut list = Vec::new();
        loop {
            let mark = self.0.path.push_index(list.len());
            let next = access.next_element_seed(Node(&mut *self.0))?;
            self.0.path.pop(mark);
            match next {
                Some(value) => list.push(value),
                None => break,
            }
        }
        self.0.depth -= 1;
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        self.0.enter::<A::Error>(MAP_CELLS)?;
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let mark = self.0.path.push_field(&key);
            let value = access.next_value_seed(Node(&mut *self.0))?;
            let repeated = map.insert(key, value).is_some();
            if repeated && self.0.duplicates.len() < PROBLEMS_LISTED_MAX {
                self.0.duplicates.push(self.0.path.as_str().to_owned());
            }
            self.0.path.pop(mark);
        }
        self.0.depth -= 1;
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn numbers_and_text_come_through_unchanged() {
        let text =
            r#"{"big":9007199254740993,"huge":18446744073709551615,"n":-5,"f":1.5,"s":"é\n"}"#;
        let decoded = decode_json(text.as_bytes()).unwrap();
        assert_eq!(decoded.value["big"], json!(9_007_199_254_740_993_i64));
        assert_eq!(decoded.value["huge"], json!(u64::MAX));
        assert_eq!(decoded.value["s"], json!("é\n"));
        assert_eq!(decoded.duplicates, Vec::<String>::new());
    }

    #[test]
    fn a_field_that_stands_twice_is_noticed_and_the_last_counts() {
        let decoded = decode_json(br#"{"spec":{"list":[{"a":1,"a":2}]}}"#).unwrap();
        assert_eq!(decoded.duplicates, ["spec.list[0].a"]);
        assert_eq!(decoded.value["spec"]["list"][0]["a"], json!(2));
    }

    #[test]
    fn depth_is_limited() {
        let deep = |n: usize| format!("{}1{}", "[".repeat(n), "]".repeat(n));
        let most = Budget::OBJECT.depth;
        assert!(decode_json(deep(most).as_bytes()).is_ok());
        let error = decode_json(deep(most + 1).as_bytes()).unwrap_err();
        assert!(
            error.message().contains("nested deeper than 100"),
            "{error}"
        );
    }

    #[test]
    fn the_cells_of_values_are_limited() {
        let list = |n: usize| format!("[{}1]", "1,".repeat(n - 1));
        let most = Budget::OBJECT.cells - LIST_CELLS;
        assert!(decode_json(list(most).as_bytes()).is_ok());
        let error = decode_json(list(most + 1).as_bytes()).unwrap_err();
        assert!(
            error.message().contains("more than 500000 cells"),
            "{error}"
        );
        let maps = |n: usize| format!("[{}{{}}]", r#"{"a":1},"#.repeat(n));
        assert!(decode_json(maps(55_000).as_bytes()).is_ok());
        let error = decode_json(maps(56_000).as_bytes()).unwrap_err();
        assert_eq!(error.reason(), Reason::RequestEntityTooLarge);
    }

    #[test]
    fn fields_that_stand_twice_are_listed_within_bounds() {
        let key = "k".repeat(500_000);
        let many = r#""a":1,"#.repeat(300_000);
        let decoded = decode_json(format!(r#"{{"{key}":{{{many}"a":1}}}}"#).as_bytes()).unwrap();
        assert_eq!(decoded.duplicates.len(), PROBLEMS_LISTED_MAX);
        assert!(decoded.duplicates.iter().all(|path| path.len() < 210));
    }

    #[test]
    fn broken_json_says_where() {
        let error = decode_json(b"{\"a\": }").unwrap_err();
        assert!(error.message().contains("line 1 column 7"), "{error}");
        assert!(decode_json(b"{} x").is_err());
        assert!(decode_json(b"").is_err());
    }

    #[test]
    fn a_form_that_is_not_read_is_refused() {
        let error = BodyForm::from_content_type(Some("application/cbor")).unwrap_err();
        assert_eq!(error.reason(), Reason::UnsupportedMediaType);
        assert_eq!(
            BodyForm::from_content_type(Some("application/vnd.kubernetes.protobuf")).unwrap(),
            BodyForm::Protobuf
        );
        for (header, form) in [
            ("application/json; charset=utf-8", BodyForm::Json),
            ("APPLICATION/JSON", BodyForm::Json),
            ("Application/Json ; Charset=\"UTF-8\"", BodyForm::Json),
            ("Application/YAML", BodyForm::Yaml),
        ] {
            let read = BodyForm::from_content_type(Some(header)).unwrap();
            assert_eq!(read, form, "{header}");
        }
    }

    #[test]
    fn protobuf_is_read_for_kinds_that_have_it() {
        // k8s, then typeMeta, then metadata with a name in it.
        let namespace = b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x08\x0a\x06\x0a\x04demo";
        let decoded = decode(namespace, BodyForm::Protobuf).unwrap();
        let expected = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "demo"},
        });
        assert_eq!(decoded.value, expected);
        let custom = b"k8s\0\x0a\x08\x0a\x02x/\x12\x02ab";
        let table: [(&[u8], Reason); 3] = [
            (custom, Reason::UnsupportedMediaType),
            (b"{}", Reason::BadRequest),
            (&namespace[..30], Reason::BadRequest),
        ];
        for (bytes, reason) in table {
            let error = decode(bytes, BodyForm::Protobuf).unwrap_err();
            assert_eq!(error.reason(), reason, "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_body_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode(&bytes, BodyForm::Json);
            let _ = decode(&bytes, BodyForm::Yaml);
            let _ = decode(&bytes, BodyForm::Protobuf);
        }
    }
}
