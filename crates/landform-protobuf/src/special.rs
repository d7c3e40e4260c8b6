//! Types that have a form of their own in JSON.

use serde_json::{Number, Value};
use time::OffsetDateTime;

use crate::DEPTH;
use crate::error::Problem;
use crate::message::Read;
use crate::wire::Reader;

/// Go's zero time, the first second of the year 1; JSON has no text for it.
const ZERO_TIME: i64 = -62_135_596_800;

/// A time to the second; `None` for no time.
pub(crate) fn time(parts: &[&[u8]]) -> Result<Option<Read>, Problem> {
    let (seconds, _) = timestamp(parts)?;
    let empty = parts.iter().all(|part| part.is_empty());
    if empty || seconds == ZERO_TIME {
        return Ok(None);
    }
    let text = format!("{}Z", to_the_second(seconds)?);
    Ok(Some(Read::new(text, false)))
}

/// A time to the microsecond; `None` for no time.
pub(crate) fn micro_time(parts: &[&[u8]]) -> Result<Option<Read>, Problem> {
    let (seconds, nanos) = timestamp(parts)?;
    if !(0..1_000_000_000).contains(&nanos) {
        return Err(Problem::Time);
    }
    let micros = nanos / 1_000;
    let empty = parts.iter().all(|part| part.is_empty());
    if empty || (seconds == ZERO_TIME && micros == 0) {
        return Ok(None);
    }
    let text = format!("{}.{micros:06}Z", to_the_second(seconds)?);
    Ok(Some(Read::new(text, false)))
}

fn timestamp(parts: &[&[u8]]) -> Result<(i64, i32), Problem> {
    let (mut seconds, mut nanos) = (0, 0);
    for part in parts {
        let mut reader = Reader::new(part);
        while let Some((number, wire)) = reader.field()? {
            match number {
                1 => seconds = wire.varint()?.cast_signed(),
                2 => nanos = wire.varint()? as i32,
                _ => {}
            }
        }
    }
    Ok((seconds, nanos))
}

fn to_the_second(seconds: i64) -> Result<String, Problem> {
    let time = OffsetDateTime::from_unix_timestamp(seconds).map_err(|_| Problem::Time)?;
    if time.year() < 0 {
        return Err(Problem::Time);
    }
    Ok(format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        time.year(),
        u8::from(time.month()),
        time.day(),
        time.hour(),
        time.minute(),
        time.second()
    ))
}

/// A quantity; `None` when it is not on the wire.
pub(crate) fn quantity(parts: &[&[u8]]) -> Result<Option<Read>, Problem> {
    if parts.is_empty() {
        return Ok(None);
    }
    let mut text = "";
    for part in parts {
        let mut reader = Reader::new(part);
        while let Some((number, wire)) = reader.field()? {
            if number == 1 {
                text = wire.text()?;
            }
        }
    }
    // Go reads an absent text as its zero value, which it writes so.
    let empty = text.is_empty();
    Ok(Some(Read::new(if empty { "0" } else { text }, empty)))
}

/// A number or a text, as the message itself says.
pub(crate) fn int_or_string(parts: &[&[u8]]) -> Result<Read, Problem> {
    let (mut is_text, mut number, mut text) = (0, 0, "");
    for part in parts {
        let mut reader = Reader::new(part);
        while let Some((field, wire)) = reader.field()? {
            match field {
                1 => is_text = wire.varint()?,
                2 => number = wire.varint()? as i32,
                3 => text = wire.text()?,
                _ => {}
            }
        }
    }
    if is_text == 0 {
        Ok(Read::new(number, number == 0))
    } else {
        Ok(Read::new(text, false))
    }
}

/// A message whose first field is JSON; without it, `null`.
pub(crate) fn raw_json(parts: &[&[u8]], depth: usize) -> Result<Read, Problem> {
    let mut raw: &[u8] = &[];
    for part in parts {
        let mut reader = Reader::new(part);
        while let Some((number, wire)) = reader.field()? {
            if number == 1 {
                raw = wire.bytes()?;
            }
        }
    }
    if raw.is_empty() {
        return Ok(Read::new(Value::Null, true));
    }
    Ok(Read::new(json(raw, depth)?, false))
}

/// JSON text that stands at a depth.
pub(crate) fn json(raw: &[u8], depth: usize) -> Result<Value, Problem> {
    let value = serde_json::from_slice(raw).map_err(|error| Problem::NotJson(error.to_string()))?;
    if depth + height(&value) > DEPTH {
        return Err(Problem::TooDeep);
    }
    Ok(value)
}

/// How many objects and lists stand inside each other; `serde_json` reads no more than 128.
fn height(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(height).max().unwrap_or(0),
        Value::Object(object) => 1 + object.values().map(height).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// A floating-point number; Go writes a whole one without a point.
pub(crate) fn double(number: f64) -> Result<Read, Problem> {
    let whole = number.fract() == 0.0
        && number.abs() < 9.2e18
        && (number != 0.0 || number.is_sign_positive());
    let shown = if whole {
        Number::from(number as i64)
    } else {
        Number::from_f64(number).ok_or(Problem::NotFinite)?
    };
    Ok(Read::new(Value::Number(shown), number == 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// A varint field.
    fn varint(number: u8, mut value: u64) -> Vec<u8> {
        let mut bytes = vec![number << 3];
        while value > 0x7f {
            bytes.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    }

    fn text(number: u8, value: &str) -> Vec<u8> {
        let mut bytes = vec![number << 3 | 2, value.len() as u8];
        bytes.extend(value.as_bytes());
        bytes
    }

    fn at(seconds: i64, nanos: u64) -> Vec<u8> {
        [varint(1, seconds.cast_unsigned()), varint(2, nanos)].concat()
    }

    fn shown(read: Option<Read>) -> Value {
        read.map_or(Value::Null, |read| read.value)
    }

    #[test]
    fn times_are_text_and_no_time_is_none() {
        let table = [
            (at(0, 0), json!("1970-01-01T00:00:00Z")),
            (
                at(1_700_000_000, 999_999_999),
                json!("2023-11-14T22:13:20Z"),
            ),
            (at(-1, 0), json!("1969-12-31T23:59:59Z")),
            (at(253_402_300_799, 0), json!("9999-12-31T23:59:59Z")),
            (at(ZERO_TIME, 0), json!(null)),
            (vec![], json!(null)),
        ];
        for (bytes, expected) in table {
            assert_eq!(shown(time(&[&bytes]).unwrap()), expected);
        }
        assert_eq!(time(&[&at(i64::MAX, 0)]).err(), Some(Problem::Time));
        assert_eq!(time(&[&at(ZERO_TIME * 2, 0)]).err(), Some(Problem::Time));
    }

    #[test]
    fn micro_times_have_six_digits() {
        let bytes = at(1_700_000_000, 1_234_999);
        let expected = json!("2023-11-14T22:13:20.001234Z");
        assert_eq!(shown(micro_time(&[&bytes]).unwrap()), expected);
        let bytes = at(1_700_000_000, 0);
        let expected = json!("2023-11-14T22:13:20.000000Z");
        assert_eq!(shown(micro_time(&[&bytes]).unwrap()), expected);
        assert_eq!(shown(micro_time(&[&[]]).unwrap()), json!(null));
        let bytes = at(1, 1_000_000_000);
        assert_eq!(micro_time(&[&bytes]).err(), Some(Problem::Time));
    }

    #[test]
    fn numbers_or_texts_by_what_they_say_they_are() {
        let number = varint(2, 8080);
        let read = int_or_string(&[&number]).unwrap();
        assert_eq!((read.value, read.zero), (json!(8080), false));
        let both = [varint(1, 1), varint(2, 7), text(3, "25%")].concat();
        assert_eq!(int_or_string(&[&both]).unwrap().value, json!("25%"));
        let read = int_or_string(&[]).unwrap();
        assert_eq!((read.value, read.zero), (json!(0), true));
        let minus_one = varint(2, u64::MAX);
        assert_eq!(int_or_string(&[&minus_one]).unwrap().value, json!(-1));
    }

    #[test]
    fn quantities_are_text() {
        let bytes = text(1, "100m");
        assert_eq!(shown(quantity(&[&bytes]).unwrap()), json!("100m"));
        assert_eq!(shown(quantity(&[&[]]).unwrap()), json!("0"));
        assert_eq!(shown(quantity(&[]).unwrap()), json!(null));
    }

    #[test]
    fn whole_doubles_have_no_point() {
        for (number, expected) in [(1.0, "1"), (-3.0, "-3"), (0.5, "0.5"), (1e300, "1e+300")] {
            assert_eq!(double(number).unwrap().value.to_string(), expected);
        }
        assert!(double(f64::NAN).is_err());
        assert!(double(f64::INFINITY).is_err());
    }

    #[test]
    fn raw_json_stands_within_the_depth() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(json(deep(10).as_bytes(), DEPTH - 10).is_ok());
        let too_deep = json(deep(10).as_bytes(), DEPTH - 9);
        assert_eq!(too_deep, Err(Problem::TooDeep));
        assert!(matches!(json(b"{", 0), Err(Problem::NotJson(_))));
    }
}
