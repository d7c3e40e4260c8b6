//! What form of answer the client takes: the `Accept` header.

use crate::error::{ApiError, Reason, Result};

/// The text form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// The shape of the objects in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// As they are.
    Full,
    /// A table of printer columns.
    Table,
    /// Only apiVersion, kind and metadata.
    Metadata,
}

/// A form of answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The text form.
    pub encoding: Encoding,
    /// The shape.
    pub shape: Shape,
}

/// One entry of an `Accept` header.
#[derive(Debug, Default)]
pub struct MediaRange<'a> {
    /// `application/json`: in small letters, whichever the client wrote.
    pub media: String,
    /// The parameters `as`, `g` and `v`.
    pub shape: Option<&'a str>,
    /// `g`.
    pub group: Option<&'a str>,
    /// `v`.
    pub version: Option<&'a str>,
}

/// The entries of an `Accept` header, most wanted first as far as the order says so.
pub fn media_ranges(header: &str) -> impl Iterator<Item = MediaRange<'_>> {
    header.split(',').map(|entry| {
        let mut parts = entry.split(';').map(str::trim);
        let mut range = MediaRange {
            media: parts.next().unwrap_or_default().to_ascii_lowercase(),
            ..MediaRange::default()
        };
        for parameter in parts {
            let Some((name, value)) = parameter.split_once('=') else {
                continue;
            };
            match name.trim_end().to_ascii_lowercase().as_str() {
                "as" => range.shape = Some(value),
                "g" => range.group = Some(value),
                "v" => range.version = Some(value),
                _ => {}
            }
        }
        range
    })
}

/// Chooses the first form that the client names and the server has.
pub fn negotiate(header: Option<&str>) -> Result<Form> {
    let header = header
        .filter(|text| !text.trim().is_empty())
        .unwrap_or("*/*");
    for range in media_ranges(header) {
        let encoding = match range.media.as_str() {
            "application/json" | "*/*" | "application/*" | "text/*" => Encoding::Json,
            "application/yaml" | "text/yaml" | "application/x-yaml" => Encoding::Yaml,
            _ => continue,
        };
        let shape = match (range.shape, range.group, range.version) {
            (None, ..) => Shape::Full,
            (Some("Table"), Some("meta.k8s.io"), Some("v1" | "v1beta1")) => Shape::Table,
            (
                Some("PartialObjectMetadata" | "PartialObjectMetadataList"),
                Some("meta.k8s.io"),
                Some("v1" | "v1beta1"),
            ) => Shape::Metadata,
            _ => continue,
        };
        return Ok(Form { encoding, shape });
    }
    Err(ApiError::new(
        Reason::NotAcceptable,
        format!(
            "none of the accepted media types is available ({header}): only application/json and application/yaml are, also as=Table or as=PartialObjectMetadata of meta.k8s.io/v1"
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_form_that_the_server_has_is_chosen() {
        let json = |shape| Form {
            encoding: Encoding::Json,
            shape,
        };
        for (header, expected) in [
            (None, json(Shape::Full)),
            (Some(""), json(Shape::Full)),
            (Some("*/*"), json(Shape::Full)),
            (
                Some("application/vnd.kubernetes.protobuf,application/json"),
                json(Shape::Full),
            ),
            (
                Some("application/json;as=Table;v=v1;g=meta.k8s.io,application/json"),
                json(Shape::Table),
            ),
            (
                Some("application/json;as=Table;g=meta.k8s.io;v=v9, application/json"),
                json(Shape::Full),
            ),
            (
                Some("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"),
                json(Shape::Metadata),
            ),
            (
                Some("Application/JSON; AS=Table; V=v1; G=meta.k8s.io"),
                json(Shape::Table),
            ),
            (
                Some("Application/YAML;Charset=UTF-8"),
                Form {
                    encoding: Encoding::Yaml,
                    shape: Shape::Full,
                },
            ),
            (
                Some("application/yaml"),
                Form {
                    encoding: Encoding::Yaml,
                    shape: Shape::Full,
                },
            ),
        ] {
            assert_eq!(negotiate(header).unwrap(), expected, "{header:?}");
        }
    }

    #[test]
    fn a_form_that_the_server_lacks_is_refused() {
        let error = negotiate(Some("application/xml")).unwrap_err();
        assert_eq!(error.reason(), Reason::NotAcceptable);
    }
}
