//! `printf`: the verbs and flags of Go's `fmt` that make sense for template values.

use crate::print::{self, quote, with_exponent};
use crate::run::{Answer, Problem, Run};
use crate::value::Value;

/// Widths and precisions beyond this are refused.
const WIDEST: usize = 10_000;

#[derive(Debug, Default, Clone, Copy)]
struct Spec {
    minus: bool,
    plus: bool,
    sharp: bool,
    space: bool,
    zero: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

pub(super) fn printf(run: &Run<'_>, format: &str, arguments: &[Value]) -> Answer<String> {
    let mut out = String::new();
    let mut chars = format.chars().peekable();
    let mut next = 0;
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        run.work(1)?;
        let mut spec = Spec::default();
        while let Some(flag) = chars.peek() {
            match flag {
                '-' => spec.minus = true,
                '+' => spec.plus = true,
                '#' => spec.sharp = true,
                ' ' => spec.space = true,
                '0' => spec.zero = true,
                _ => break,
            }
            chars.next();
        }
        spec.width = number(&mut chars, arguments, &mut next, &mut spec.minus)?;
        if chars.peek() == Some(&'.') {
            chars.next();
            let mut ignored = false;
            let precision = number(&mut chars, arguments, &mut next, &mut ignored)?;
            spec.precision = Some(precision.unwrap_or(0));
        }
        let Some(verb) = chars.next() else {
            out.push_str("%!(NOVERB)");
            break;
        };
        if verb == '%' {
            out.push('%');
            continue;
        }
        let Some(argument) = arguments.get(next) else {
            out.push_str(&format!("%!{verb}(MISSING)"));
            continue;
        };
        next += 1;
        let text = formatted(run, verb, spec, argument)?;
        run.allocate(text.len())?;
        out.push_str(&text);
    }
    if let Some(extra) = arguments.get(next..)
        && !extra.is_empty()
    {
        let extra = extra
            .iter()
            .map(|value| Ok(format!("{}={}", go_type(value), print::print(run, value)?)));
        let extra = extra.collect::<Answer<Vec<String>>>()?;
        out.push_str(&format!("%!(EXTRA {})", extra.join(", ")));
    }
    Ok(out)
}

fn number(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    arguments: &[Value],
    next: &mut usize,
    minus: &mut bool,
) -> Answer<Option<usize>> {
    let too_wide = || Problem::limit(format!("`printf` makes no field wider than {WIDEST}"));
    if chars.peek() == Some(&'*') {
        chars.next();
        let width = match arguments.get(*next) {
            Some(Value::Int(width)) => *width,
            _ => 0,
        };
        *next += 1;
        *minus |= width < 0;
        let width = usize::try_from(width.unsigned_abs()).unwrap_or(usize::MAX);
        return if width > WIDEST {
            Err(too_wide())
        } else {
            Ok(Some(width))
        };
    }
    let mut value: Option<usize> = None;
    while let Some(digit) = chars.peek().and_then(|c| c.to_digit(10)) {
        chars.next();
        let sum = value.unwrap_or(0) * 10 + digit as usize;
        if sum > WIDEST {
            return Err(too_wide());
        }
        value = Some(sum);
    }
    Ok(value)
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Nil => "<nil>",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
        Value::Time(_) => "time.Time",
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Text(_) => value.kind(),
    }
}

fn formatted(run: &Run<'_>, verb: char, spec: Spec, value: &Value) -> Answer<String> {
    let text = match (verb, value) {
        ('v', Value::Text(text)) if spec.sharp => quote(text),
        ('v', Value::Int(number)) => return Ok(integer(*number, 'd', spec)),
        ('v' | 's', Value::Text(text)) => limited(text, spec.precision),
        ('v', Value::Float(number)) if spec.precision.is_some() => {
            return Ok(float(*number, 'g', spec));
        }
        ('v', _) => print::print(run, value)?,
        ('T', _) => go_type(value).to_owned(),
        ('t', Value::Bool(value)) => value.to_string(),
        ('q', Value::Text(text)) => quote(&limited(text, spec.precision)),
        ('q', Value::Int(number)) => format!("'{}'", character(*number)),
        ('x' | 'X', Value::Text(text)) => {
            let upper = verb == 'X';
            let hex = text.bytes().map(|byte| match upper {
                true => format!("{byte:02X}"),
                false => format!("{byte:02x}"),
            });
            hex.collect()
        }
        ('d' | 'b' | 'o' | 'x' | 'X' | 'O', Value::Int(number)) => {
            return Ok(integer(*number, verb, spec));
        }
        ('c', Value::Int(number)) => character(*number).to_string(),
        ('U', Value::Int(number)) => format!("U+{number:04X}"),
        ('e' | 'E' | 'f' | 'F' | 'g' | 'G', Value::Float(number)) => {
            return Ok(float(*number, verb, spec));
        }
        // Verbs go into lists and maps, as far as `%s`, `%d`, `%q` do.
        (_, Value::List(list)) => {
            let items = list.items().iter();
            let items = items.map(|item| formatted(run, verb, spec, item));
            return Ok(format!(
                "[{}]",
                items.collect::<Answer<Vec<_>>>()?.join(" ")
            ));
        }
        (_, Value::Nil) => format!("%!{verb}(<nil>)"),
        _ => format!("%!{verb}({}={})", go_type(value), print::print(run, value)?),
    };
    Ok(padded(&text, spec, false))
}

fn limited(text: &str, precision: Option<usize>) -> String {
    text.chars().take(precision.unwrap_or(usize::MAX)).collect()
}

fn character(number: i64) -> char {
    let code = u32::try_from(number).ok();
    code.and_then(char::from_u32).unwrap_or('\u{fffd}')
}

fn padded(text: &str, spec: Spec, number: bool) -> String {
    let width = spec.width.unwrap_or(0);
    let missing = width.saturating_sub(text.chars().count());
    if missing == 0 {
        return text.to_owned();
    }
    if spec.minus {
        return text.to_owned() + &" ".repeat(missing);
    }
    if spec.zero {
        let digits = if number {
            text.trim_start_matches(['-', '+', ' '])
        } else {
            text
        };
        let sign = &text[..text.len() - digits.len()];
        return format!("{sign}{}{digits}", "0".repeat(missing));
    }
    " ".repeat(missing) + text
}

fn sign(negative: bool, spec: Spec) -> &'static str {
    match (negative, spec.plus, spec.space) {
        (true, _, _) => "-",
        (false, true, _) => "+",
        (false, false, true) => " ",
        (false, false, false) => "",
    }
}

fn integer(number: i64, verb: char, spec: Spec) -> String {
    let magnitude = number.unsigned_abs();
    let digits = match verb {
        'b' => format!("{magnitude:b}"),
        'o' | 'O' => format!("{magnitude:o}"),
        'x' => format!("{magnitude:x}"),
        'X' => format!("{magnitude:X}"),
        _ => magnitude.to_string(),
    };
    let prefix = match (verb, spec.sharp) {
        ('x', true) => "0x",
        ('X', true) => "0X",
        ('o', true) => "0",
        ('b', true) => "0b",
        ('O', _) => "0o",
        _ => "",
    };
    let zeros = spec.precision.unwrap_or(0).saturating_sub(digits.len());
    let digits = "0".repeat(zeros) + &digits;
    let text = format!("{}{prefix}{digits}", sign(number < 0, spec));
    let spec = Spec {
        zero: spec.zero && spec.precision.is_none(),
        ..spec
    };
    padded(&text, spec, true)
}

fn float(number: f64, verb: char, spec: Spec) -> String {
    let magnitude = number.abs();
    let precision = spec.precision.unwrap_or(6);
    let scientific = |text: String| {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        with_exponent(mantissa, exponent.parse().unwrap_or(0))
    };
    let digits = match verb {
        'f' | 'F' => format!("{magnitude:.precision$}"),
        'e' | 'E' => scientific(format!("{magnitude:.precision$e}")),
        _ if spec.precision.is_none() => print::float(magnitude),
        _ => general(magnitude, precision.max(1)),
    };
    let digits = if verb.is_uppercase() {
        digits.to_uppercase()
    } else {
        digits
    };
    padded(&(sign(number < 0.0, spec).to_owned() + &digits), spec, true)
}

/// `%.3g`: so many digits, without zeros at the end.
fn general(magnitude: f64, precision: usize) -> String {
    let text = format!("{magnitude:.*e}", precision - 1);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let shortened = |digits: &str| match digits.contains('.') {
        true => digits
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned(),
        false => digits.to_owned(),
    };
    let decimals = i32::try_from(precision).unwrap_or(i32::MAX) - 1 - exponent;
    if exponent < -4 || decimals < 0 {
        return with_exponent(&shortened(mantissa), exponent);
    }
    let decimals = usize::try_from(decimals).unwrap_or(0);
    shortened(&format!("{magnitude:.decimals$}"))
}
