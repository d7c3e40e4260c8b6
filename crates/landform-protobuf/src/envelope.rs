//! The envelope: which kind of object it is, and where its bytes are.

use serde_json::{Map, Value};

use crate::error::{Error, Problem};
use crate::message::Decoder;
use crate::special;
use crate::table;
use crate::wire::Reader;

const PREFIX: &[u8] = b"k8s\0";

/// `runtime.Unknown`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Envelope<'a> {
    api_version: &'a str,
    kind: &'a str,
    raw: &'a [u8],
    content_encoding: &'a str,
    content_type: &'a str,
}

/// Takes the envelope of a body apart.
pub(crate) fn open(body: &[u8]) -> Result<Envelope<'_>, Error> {
    let bytes = body.strip_prefix(PREFIX).ok_or(Error::NoPrefix)?;
    let mut envelope = Envelope::default();
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.field()? {
        match number {
            1 => envelope.read_type_meta(wire.bytes()?)?,
            2 => envelope.raw = wire.bytes()?,
            3 => envelope.content_encoding = wire.text()?,
            4 => envelope.content_type = wire.text()?,
            _ => {}
        }
    }
    Ok(envelope)
}

impl<'a> Envelope<'a> {
    fn read_type_meta(&mut self, bytes: &'a [u8]) -> Result<(), Problem> {
        let mut reader = Reader::new(bytes);
        while let Some((number, wire)) = reader.field()? {
            match number {
                1 => self.api_version = wire.text()?,
                2 => self.kind = wire.text()?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The object as JSON.
    pub(crate) fn object(&self) -> Result<Value, Error> {
        if !self.content_encoding.is_empty() {
            return Err(Error::ContentEncoding(self.content_encoding.to_owned()));
        }
        let mut object = match self.content_type {
            "" | "application/vnd.kubernetes.protobuf" => self.read_protobuf()?,
            "application/json" => self.read_json()?,
            other => return Err(Error::ContentType(other.to_owned())),
        };
        // The envelope's word counts; raw JSON may speak for itself where the envelope is silent.
        for (name, text) in [("apiVersion", self.api_version), ("kind", self.kind)] {
            if !text.is_empty() {
                object.insert(name.to_owned(), Value::String(text.to_owned()));
            }
        }
        Ok(Value::Object(object))
    }

    fn read_protobuf(&self) -> Result<Map<String, Value>, Error> {
        if self.api_version.is_empty() || self.kind.is_empty() {
            return Err(Error::NoKind);
        }
        let table = table::ours()?;
        let message =
            table
                .kind(self.api_version, self.kind)
                .ok_or_else(|| Error::UnknownKind {
                    api_version: self.api_version.to_owned(),
                    kind: self.kind.to_owned(),
                })?;
        Decoder::new(table).object(message, self.raw)
    }

    fn read_json(&self) -> Result<Map<String, Value>, Error> {
        match special::json(self.raw, 0)? {
            Value::Object(object) => Ok(object),
            _ => Err(Problem::NotObject.into()),
        }
    }
}
