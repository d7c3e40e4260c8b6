//! What a plain scalar means: null, a boolean, a number or a string.

use serde_json::{Number, Value};

/// The meaning of a scalar without quotes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Number(Number),
    /// An infinity or "not a number", which JSON has no way to write.
    NotFinite,
    Text,
}

/// Finds the meaning that `sigs.k8s.io/yaml` gives to a scalar without quotes or tag.
pub(crate) fn resolve(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "true" | "True" | "TRUE" => {
            return Scalar::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "false" | "False" | "FALSE" => {
            return Scalar::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF"
        | "-.inf" | "-.Inf" | "-.INF" => return Scalar::NotFinite,
        _ => {}
    }
    let number = match text.as_bytes().first() {
        Some(b'.') => fraction_without_digits_before(text),
        Some(b'0'..=b'9' | b'+' | b'-') => number(text),
        _ => None,
    };
    number.map_or(Scalar::Text, Scalar::Number)
}

/// Whether only YAML 1.1 takes the text for a boolean; `true` and `false` are such for everybody.
pub(crate) fn is_word_of_yaml_1_1(text: &str) -> bool {
    matches!(resolve(text), Scalar::Bool(_))
        && !text.eq_ignore_ascii_case("true")
        && !text.eq_ignore_ascii_case("false")
}

/// `.5`, `.5e3`: the only form in which underscores must stand between digits.
fn fraction_without_digits_before(text: &str) -> Option<Number> {
    let bytes = text.as_bytes();
    let misplaced = bytes.iter().enumerate().any(|(at, byte)| {
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        *byte == b'_' && !(digit(at - 1) && digit(at + 1))
    });
    if misplaced {
        None
    } else {
        float(&text.replace('_', ""))
    }
}

fn number(text: &str) -> Option<Number> {
    let plain = text.replace('_', "");
    let (negative, digits) = match plain.as_bytes().first()? {
        b'-' => (true, &plain[1..]),
        b'+' => (false, &plain[1..]),
        _ => (false, plain.as_str()),
    };
    let (radix, body) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    integer(body, radix, negative)
        // `08` is no octal number; it is read as a decimal one, as Kubernetes does.
        .or_else(|| integer(digits, 10, negative))
        .or_else(|| float(&plain))
}

/// An integer of 64 bits, with or without sign; a body with a sign of its own is none.
fn integer(body: &str, radix: u32, negative: bool) -> Option<Number> {
    if !body.bytes().next()?.is_ascii_alphanumeric() {
        return None;
    }
    let magnitude = u64::from_str_radix(body, radix).ok()?;
    if negative {
        0i64.checked_sub_unsigned(magnitude).map(Number::from)
    } else {
        Some(Number::from(magnitude))
    }
}

/// Digits with an optional point and exponent; a value past the largest float is no number.
fn float(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mantissa_ok =
        all_digits(whole) && all_digits(fraction) && !(whole.is_empty() && fraction.is_empty());
    let exponent_ok = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    if !(mantissa_ok && exponent_ok) {
        return None;
    }
    // `from_f64` refuses infinities, which is what an exponent like 400 gives.
    Number::from_f64(text.parse().ok()?)
}

/// The text of a number that is used as a key of a mapping.
///
/// Kubernetes shortens a float there to 32 bits and prints it as Go's `%g` does; whoever writes
/// `1.10:` gets the key `1.1` on both systems.
pub(crate) fn number_as_key(number: &Number) -> Option<String> {
    if number.is_i64() || number.is_u64() {
        return Some(number.to_string());
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "Kubernetes shortens keys to 32 bits too"
    )]
    let short = number.as_f64()? as f32;
    if !short.is_finite() {
        return None;
    }
    let scientific = format!("{short:e}");
    let (mantissa, exponent) = scientific.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    if (-4..6).contains(&exponent) {
        Some(short.to_string())
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        Some(format!("{mantissa}e{sign}{:02}", exponent.abs()))
    }
}

impl From<Scalar> for Option<Value> {
    fn from(scalar: Scalar) -> Self {
        match scalar {
            Scalar::Null => Some(Value::Null),
            Scalar::Bool(bool) => Some(Value::Bool(bool)),
            Scalar::Number(number) => Some(Value::Number(number)),
            Scalar::NotFinite | Scalar::Text => None,
        }
    }
}
