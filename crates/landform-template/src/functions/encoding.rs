//! base64, base32, sums, and URLs.

use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use super::builtin::escape_query;
use super::{Call, Entry, entry};
use crate::run::Answer;
use crate::value::{Entries, Value};

pub(super) const FUNCTIONS: &[Entry] = &[
    entry("b64enc", 1, 1, |call| {
        call.run.text(STANDARD.encode(call.text(0)?))
    }),
    entry("b64dec", 1, 1, |call| {
        let bytes = STANDARD.decode(call.text(0)?);
        decoded(call, bytes.ok(), "base64")
    }),
    entry("b32enc", 1, 1, |call| {
        call.run.text(base32(call.text(0)?.as_bytes()))
    }),
    entry("b32dec", 1, 1, |call| {
        let bytes = from_base32(call.text(0)?);
        decoded(call, bytes, "base32")
    }),
    entry("sha1sum", 1, 1, |call| {
        call.run.text(hexadecimal(&Sha1::digest(hashed(call)?)))
    }),
    entry("sha256sum", 1, 1, |call| {
        call.run.text(hexadecimal(&Sha256::digest(hashed(call)?)))
    }),
    entry("sha512sum", 1, 1, |call| {
        call.run.text(hexadecimal(&Sha512::digest(hashed(call)?)))
    }),
    entry("adler32sum", 1, 1, |call| {
        call.run.text(adler32(hashed(call)?.as_bytes()).to_string())
    }),
    entry("urlParse", 1, 1, url_parse),
    entry("urlJoin", 1, 1, url_join),
];

/// A sum takes this many bytes in the time of a step.
const HASHED_BYTES_OF_A_STEP: usize = 16;

/// The text to make a sum of, which is paid for.
fn hashed<'a>(call: &'a Call<'_>) -> Answer<&'a str> {
    let text = call.text(0)?;
    call.run.work(text.len() / HASHED_BYTES_OF_A_STEP)?;
    Ok(text)
}

fn decoded(call: &Call<'_>, bytes: Option<Vec<u8>>, form: &str) -> Answer {
    let bytes = bytes.ok_or_else(|| call.problem(format!("the text is not {form}")))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| call.problem("what is encoded is no UTF-8 text, and only texts are known"))?;
    call.run.text(text)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn adler32(bytes: &[u8]) -> u32 {
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in bytes {
        low = (low + u32::from(*byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    high << 16 | low
}

const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

fn base32(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len() * 8 / 5 + 8);
    for chunk in bytes.chunks(5) {
        let mut group = [0_u8; 5];
        group[..chunk.len()].copy_from_slice(chunk);
        let bits = group
            .iter()
            .fold(0_u64, |bits, byte| bits << 8 | u64::from(*byte));
        let digits = (chunk.len() * 8).div_ceil(5);
        for at in 0..8 {
            let value = bits >> (35 - 5 * at) & 31;
            let digit = BASE32[usize::try_from(value).unwrap_or(0)];
            out.push(if at < digits { char::from(digit) } else { '=' });
        }
    }
    out
}

fn from_base32(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(8) || text.len() - digits.len() > 6 {
        return None;
    }
    let (mut bits, mut count) = (0_u32, 0);
    let mut out = Vec::with_capacity(digits.len() * 5 / 8);
    for byte in digits.bytes() {
        let value = BASE32.iter().position(|digit| *digit == byte)?;
        bits = bits << 5 | u32::try_from(value).ok()?;
        count += 5;
        if count >= 8 {
            count -= 8;
            out.push(u8::try_from(bits >> count & 0xff).ok()?);
            bits &= (1 << count) - 1;
        }
    }
    Some(out)
}

fn url_parse(call: &Call<'_>) -> Answer {
    let text = call.text(0)?;
    let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let scheme_end = rest.find(':').filter(|end| {
        let scheme = &rest[..*end];
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
    });
    let (scheme, rest) = match scheme_end {
        Some(end) => (&rest[..end], &rest[end + 1..]),
        None => ("", rest),
    };
    let (authority, path, opaque) = match rest.strip_prefix("//") {
        Some(rest) => {
            let end = rest.find('/').unwrap_or(rest.len());
            (&rest[..end], &rest[end..], "")
        }
        None if scheme.is_empty() || rest.starts_with('/') => ("", rest, ""),
        None => ("", "", rest),
    };
    let (userinfo, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let port = host.rfind(':').filter(|at| {
        host[at + 1..].bytes().all(|byte| byte.is_ascii_digit()) && !host[*at..].contains(']')
    });
    let hostname = host[..port.unwrap_or(host.len())].trim_matches(['[', ']']);
    let parts = [
        ("fragment", fragment),
        ("host", host),
        ("hostname", hostname),
        ("opaque", opaque),
        ("path", path),
        ("query", query),
        ("scheme", scheme),
        ("userinfo", userinfo),
    ];
    let mut entries = Entries::new();
    for (name, part) in parts {
        entries.insert(Rc::from(name), call.run.text(part)?);
    }
    call.run.map(entries)
}

fn url_join(call: &Call<'_>) -> Answer {
    let map = call.map(0)?;
    let part = |name: &str| match map.get(name) {
        Some(Value::Text(text)) => Ok(text.to_string()),
        Some(Value::Nil) | None => Ok(String::new()),
        Some(other) => Err(call.problem(format!(
            "`{name}` has to be a string, and is a {}",
            other.kind()
        ))),
    };
    let mut out = String::new();
    let (scheme, host, userinfo) = (part("scheme")?, part("host")?, part("userinfo")?);
    if !scheme.is_empty() {
        out.push_str(&scheme);
        out.push(':');
    }
    let opaque = part("opaque")?;
    if opaque.is_empty() {
        if !host.is_empty() || !userinfo.is_empty() {
            out.push_str("//");
            if !userinfo.is_empty() {
                out.push_str(&userinfo);
                out.push('@');
            }
            out.push_str(&host);
        }
        let path = part("path")?;
        if !host.is_empty() && !path.is_empty() && !path.starts_with('/') {
            out.push('/');
        }
        out.push_str(&path);
    } else {
        out.push_str(&opaque);
    }
    let (query, fragment) = (part("query")?, part("fragment")?);
    if !query.is_empty() {
        out.push('?');
        out.push_str(&query);
    }
    if !fragment.is_empty() {
        out.push('#');
        out.push_str(&escape_query(&fragment).replace('+', "%20"));
    }
    call.run.text(out)
}
