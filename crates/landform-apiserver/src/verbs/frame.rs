//! Lists that are made as a whole: tables, metadata, YAML. Of their objects one at a time is decoded.

use std::time::Instant;

use http::{Response, StatusCode};
use landform_store::Record;
use serde_json::Value;

use crate::body::Body;
use crate::error::{ApiError, Reason, Result};
use crate::request::accept::Encoding;
use crate::respond;
use crate::shares::Shares;

/// What a list may cost.
pub(crate) struct Limits<'a> {
    pub(crate) answers: &'a Shares,
    /// Nobody waits for the answer after this.
    pub(crate) until: Instant,
    /// Bytes of an answer that is made as a whole.
    pub(crate) bytes: usize,
}

impl Limits<'_> {
    fn hold(&self, bytes: usize) -> Result<()> {
        if bytes > self.bytes {
            return Err(ApiError::new(
                Reason::RequestEntityTooLarge,
                format!(
                    "the answer would have more than {} bytes: ask for fewer objects at once, with limit (kubectl: --chunk-size) or a selector",
                    self.bytes
                ),
            ));
        }
        if Instant::now() > self.until {
            return Err(ApiError::new(
                Reason::Timeout,
                "the list took too long: ask for fewer objects at once, with limit or a selector",
            ));
        }
        Ok(())
    }
}

/// The text of a list without its entries: what stands before and behind them.
pub(crate) struct Frame {
    before: String,
    after: String,
    encoding: Encoding,
}

impl Frame {
    /// The frame of a list whose entries stand below this field, which is empty.
    pub(crate) fn new(list: &Value, field: &str, encoding: Encoding) -> Self {
        let (text, empty) = match encoding {
            Encoding::Json => (list.to_string(), format!("\"{field}\":[")),
            Encoding::Yaml => (landform_yaml::write(list), format!("\n{field}: []\n")),
        };
        // The last one: what stands before it may have such a text in it.
        let at = text.rfind(&empty).unwrap_or_default();
        let (before, after) = text.split_at(at);
        let after = after.strip_prefix(&empty).unwrap_or(after);
        let before = match encoding {
            Encoding::Json => format!("{before}{empty}"),
            Encoding::Yaml => format!("{before}\n{field}:"),
        };
        Self {
            before,
            after: after.to_owned(),
            encoding,
        }
    }

    /// The list with what is shown of each record: only one of them is there as a value.
    pub(crate) fn filled(
        self,
        limits: &Limits<'_>,
        records: &[Record],
        show: impl Fn(&Record) -> Result<Value>,
    ) -> Result<Response<Body>> {
        let mut out = self.before.into_bytes();
        if self.encoding == Encoding::Yaml {
            let empty: &[u8] = if records.is_empty() { b" []\n" } else { b"\n" };
            out.extend_from_slice(empty);
        }
        for (index, record) in records.iter().enumerate() {
            let entry = show(record)?;
            match self.encoding {
                Encoding::Json => {
                    if index > 0 {
                        out.push(b',');
                    }
                    // Writing to memory can't fail.
                    let _ = serde_json::to_writer(&mut out, &entry);
                }
                Encoding::Yaml => {
                    let lines = landform_yaml::write(&Value::Array(vec![entry]));
                    out.extend_from_slice(lines.as_bytes());
                }
            }
            limits.hold(out.len())?;
        }
        out.extend_from_slice(self.after.as_bytes());
        Ok(respond::text_of(StatusCode::OK, out, self.encoding))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use landform_store::{Bucket, Key, Revision};
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_list_is_the_same_whether_its_entries_are_put_in_one_by_one() {
        let answers = Shares::of_answers();
        let limits = Limits {
            answers: &answers,
            until: Instant::now() + Duration::from_secs(60),
            bytes: 1 << 20,
        };
        let key = Key::new(&Bucket::new("things"), "a");
        for entries in [
            vec![],
            vec![json!({})],
            vec![
                json!({"a": 1, "items": [], "text": "x\nitems: []\n"}),
                json!({"deep": [[1, {"b": null}], "x: y"]}),
                json!("a word"),
                json!([1, 2]),
            ],
        ] {
            let records: Vec<_> = (entries.iter())
                .map(|entry| Record {
                    key: key.clone(),
                    value: entry.to_string().into(),
                    created: Revision(1),
                    modified: Revision(1),
                })
                .collect();
            let mut list = json!({
                "apiVersion": "v1", "items": [], "kind": "L",
                "metadata": {"continue": "\nitems: []\n", "resourceVersion": "7"},
            });
            for encoding in [Encoding::Json, Encoding::Yaml] {
                let frame = Frame::new(&list, "items", encoding);
                let filled = frame.filled(&limits, &records, |record| {
                    Ok(serde_json::from_slice(&record.value).unwrap())
                });
                let Body::Whole(bytes) = filled.unwrap().into_body() else {
                    panic!("it is sent in pieces");
                };
                let text = std::str::from_utf8(&bytes).unwrap();
                let budget = landform_yaml::Budget::FILE;
                let read = match encoding {
                    Encoding::Json => serde_json::from_str(text).unwrap(),
                    Encoding::Yaml => landform_yaml::parse_one(text, &budget).unwrap(),
                };
                list["items"] = json!(entries);
                assert_eq!(read, list, "{text}");
                list["items"] = json!([]);
            }
        }
    }
}
