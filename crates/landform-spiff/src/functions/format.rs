//! `format` and `error`: texts from a pattern with Go's verbs.

use crate::error::{Complaint, ErrorKind};
use crate::json;
use crate::meter::{Answer, Meter};
use crate::operators;
use crate::value::Value;

use super::text_at;

/// How wide a number or text may be padded.
const WIDEST: usize = 1_000;

pub(super) fn format<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    let text = formatted(meter, arguments)?;
    meter.text(text)
}

/// Fails with a text, which is the author's.
pub(super) fn error<'d>(meter: &Meter, arguments: &[Value<'d>]) -> Answer<Value<'d>> {
    let text = formatted(meter, arguments)?;
    Err(Complaint::new(ErrorKind::Failed, text))
}

#[derive(Debug, Default)]
struct Verb {
    left: bool,
    plus: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
    letter: char,
}

fn formatted(meter: &Meter, arguments: &[Value<'_>]) -> Answer<String> {
    let pattern = text_at(arguments, 0)?;
    meter.read(pattern)?;
    let mut values = arguments.iter().enumerate().skip(1);
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let (verb, length) = verb(&rest[at + 1..])?;
        rest = &rest[at + 1 + length..];
        if verb.letter == '%' {
            out.push('%');
            continue;
        }
        let Some((number, value)) = values.next() else {
            return Err(Complaint::value(
                "there are fewer arguments than `%` in the pattern",
            ));
        };
        let shown = shown(meter, &verb, value.plain()).map_err(|complaint| {
            let message = format!("argument {}: {}", number + 1, complaint.message);
            Complaint {
                message,
                ..complaint
            }
        })?;
        let shown = padded(&verb, shown);
        meter.allocate(shown.len())?;
        meter.work(1 + shown.len() / 256)?;
        out.push_str(&shown);
    }
    if values.next().is_some() {
        return Err(Complaint::value(
            "there are more arguments than `%` in the pattern",
        ));
    }
    out.push_str(rest);
    Ok(out)
}

/// The verb behind a `%`, and how many bytes it takes.
fn verb(text: &str) -> Answer<(Verb, usize)> {
    let mut verb = Verb::default();
    let mut characters = text.char_indices().peekable();
    while let Some((_, flag)) = characters.next_if(|(_, c)| "-+0 #".contains(*c)) {
        verb.left |= flag == '-';
        verb.plus |= flag == '+';
        verb.zeros |= flag == '0';
    }
    let digits = |characters: &mut std::iter::Peekable<std::str::CharIndices<'_>>| {
        let mut number = 0_usize;
        while let Some((_, digit)) = characters.next_if(|(_, c)| c.is_ascii_digit()) {
            let digit = digit.to_digit(10).unwrap_or(0) as usize;
            number = number.saturating_mul(10).saturating_add(digit);
        }
        number.min(WIDEST)
    };
    verb.width = digits(&mut characters);
    if characters.next_if(|(_, c)| *c == '.').is_some() {
        verb.precision = Some(digits(&mut characters));
    }
    match characters.next() {
        Some((at, letter)) => {
            verb.letter = letter;
            Ok((verb, at + letter.len_utf8()))
        }
        None => Err(Complaint::value(
            "the pattern ends behind a `%`: write `%%` for the sign",
        )),
    }
}

fn shown(meter: &Meter, verb: &Verb, value: &Value<'_>) -> Answer<String> {
    let needs = |needed: &str| {
        let message = format!(
            "`%{}` needs {needed}, and this is {}",
            verb.letter,
            value.kind()
        );
        Complaint::value(message)
    };
    let signed = |text: String| {
        if verb.plus && !text.starts_with('-') {
            return format!("+{text}");
        }
        text
    };
    match (verb.letter, value) {
        ('s', Value::Text(text)) => Ok(text
            .chars()
            .take(verb.precision.unwrap_or(usize::MAX))
            .collect()),
        ('q', Value::Text(text)) => Ok(serde_json::Value::from(&**text).to_string()),
        ('v', Value::Text(text)) => Ok(text.to_string()),
        ('d' | 'v', Value::Int(number)) => Ok(signed(number.to_string())),
        ('x', Value::Int(number)) => Ok(signed(format!("{number:x}"))),
        ('X', Value::Int(number)) => Ok(signed(format!("{number:X}"))),
        ('o', Value::Int(number)) => Ok(signed(format!("{number:o}"))),
        ('b', Value::Int(number)) => Ok(signed(format!("{number:b}"))),
        ('t' | 'v', Value::Bool(value)) => Ok(value.to_string()),
        ('f' | 'F', number) => {
            let number = operators::float(number).ok_or_else(|| needs("a number"))?;
            Ok(signed(format!("{number:.*}", verb.precision.unwrap_or(6))))
        }
        ('e', number) => {
            let number = operators::float(number).ok_or_else(|| needs("a number"))?;
            Ok(signed(format!("{number:.*e}", verb.precision.unwrap_or(6))))
        }
        ('g' | 'v', Value::Float(number)) => Ok(signed(number.to_string())),
        ('v', Value::Nil) => Ok("<nil>".to_owned()),
        ('s' | 'v', Value::List(_) | Value::Map(_)) => {
            Ok(landform_yaml::write(&json::to_json(meter, value)?))
        }
        ('s' | 'q', _) => Err(needs("a string: use `%v` or `%d`")),
        ('d' | 'x' | 'X' | 'o' | 'b', _) => Err(needs("an integer")),
        ('t', _) => Err(needs("a boolean")),
        ('g', _) => Err(needs("a float")),
        ('v', _) => Err(needs("a value")),
        _ => Err(Complaint::value(
            "the verb is not known: s, q, v, d, x, X, o, b, t, f, e and g are",
        )),
    }
}

fn padded(verb: &Verb, text: String) -> String {
    let missing = verb.width.saturating_sub(text.chars().count());
    if missing == 0 {
        return text;
    }
    if verb.left {
        return text + &" ".repeat(missing);
    }
    let number = !matches!(verb.letter, 's' | 'q' | 'v' | 't');
    if verb.zeros && number {
        let signs = usize::from(text.starts_with(['-', '+']));
        return format!(
            "{}{}{}",
            &text[..signs],
            "0".repeat(missing),
            &text[signs..]
        );
    }
    format!("{}{text}", " ".repeat(missing))
}
