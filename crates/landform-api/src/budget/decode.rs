//! Decodes JSON no further than a budget reaches: what is over it is never built.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{Budget, Exceeded, LIST_CELLS, MAP_CELLS};

/// Decodes JSON text within a budget.
///
/// # Errors
/// When it is no JSON, or more than the budget allows.
pub fn decode(text: &[u8], budget: &Budget) -> serde_json::Result<Value> {
    if text.len() > budget.bytes {
        return Err(serde_json::Error::custom(Exceeded::Bytes(budget.bytes)));
    }
    let mut left = Left {
        budget,
        cells: budget.cells,
        depth: budget.depth,
    };
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = Node(&mut left).deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// What is left of a budget.
struct Left<'b> {
    budget: &'b Budget,
    cells: usize,
    depth: usize,
}

impl Left<'_> {
    fn take<E: serde::de::Error>(&mut self, cells: usize) -> Result<(), E> {
        let left = self.cells.checked_sub(cells);
        self.cells = left.ok_or_else(|| E::custom(Exceeded::Cells(self.budget.cells)))?;
        Ok(())
    }

    fn enter<E: serde::de::Error>(&mut self, cells: usize) -> Result<(), E> {
        self.take(cells)?;
        let left = self.depth.checked_sub(1);
        self.depth = left.ok_or_else(|| E::custom(Exceeded::Depth(self.budget.depth)))?;
        Ok(())
    }
}

/// One value.
struct Node<'l, 'b>(&'l mut Left<'b>);

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        self.0.take(1)?;
        Ok(Value::Null)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        self.0.take(1)?;
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        self.0.take(1)?;
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        self.0.take(1)?;
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        self.0.take(1)?;
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.0.take(1)?;
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: serde::de::Error>(self, value: String) -> Result<Value, E> {
        self.0.take(1)?;
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        self.0.enter(LIST_CELLS)?;
        let mut list = Vec::new();
        while let Some(value) = access.next_element_seed(Node(&mut *self.0))? {
            list.push(value);
        }
        self.0.depth += 1;
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        self.0.enter(MAP_CELLS)?;
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            let value = access.next_value_seed(Node(&mut *self.0))?;
            map.insert(key, value);
        }
        self.0.depth += 1;
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_decoded_is_what_serde_decodes_and_what_the_budget_allows() {
        let small = Budget {
            depth: 3,
            cells: 40,
            bytes: 200,
        };
        for value in [
            json!(null),
            json!([
                1,
                -2,
                1.5,
                "x",
                "é\n",
                true,
                null,
                18_446_744_073_709_551_615_u64
            ]),
            json!({"a": {"b": [1]}, "c": {}}),
            json!({"a": {"b": {"c": {}}}}),
            json!([[[[1]]]]),
            json!([{}, {}, {}, {}, {}]),
            json!("x".repeat(150)),
            json!(["x".repeat(100), "y".repeat(100)]),
        ] {
            let decoded = decode(value.to_string().as_bytes(), &small);
            let allowed = small.check(&value).is_ok();
            assert_eq!(decoded.ok(), allowed.then_some(value));
        }
        assert!(decode(b"[1] 2", &small).is_err());
        assert!(decode(b"[1", &small).is_err());
    }

    /// A definition of 1.5 MB, which is what etcd takes, of nothing but short properties without a description.
    #[test]
    fn the_largest_definition_that_kubernetes_takes_is_within_the_budget() {
        let properties: Map<String, Value> = (0..51_000)
            .map(|number| (format!("p{number:07}"), json!({"type": "string"})))
            .collect();
        let schema = json!({"type": "object", "properties": properties});
        let text = schema.to_string();
        assert!(text.len() > 1_450_000, "{}", text.len());
        assert!(decode(text.as_bytes(), &Budget::OBJECT).is_ok());
    }

    /// A megabyte of them would take 90 MB.
    #[test]
    fn many_small_maps_are_more_than_an_object_may_have() {
        let maps = json!({"data": vec![json!({"a": 1}); 60_000]});
        assert!(decode(maps.to_string().as_bytes(), &Budget::OBJECT).is_err());
        let numbers = json!({"data": vec![1; 300_000]});
        assert!(decode(numbers.to_string().as_bytes(), &Budget::OBJECT).is_ok());
    }
}
