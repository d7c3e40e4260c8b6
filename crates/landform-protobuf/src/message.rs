//! A message's bytes along its line-up of fields in the table.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::error::{Error, Problem};
use crate::special;
use crate::table::{Field, Label, Table, Type};
use crate::wire::{Reader, Wire};
use crate::{CELLS, DEPTH, MESSAGE_CELLS};

type Object = Map<String, Value>;

/// Reads one body; counts its cells.
pub(crate) struct Decoder {
    table: &'static Table,
    cells: usize,
}

/// A value, and whether it is the zero value of its Go type.
pub(crate) struct Read {
    pub(crate) value: Value,
    pub(crate) zero: bool,
}

impl Read {
    pub(crate) fn new(value: impl Into<Value>, zero: bool) -> Self {
        Read {
            value: value.into(),
            zero,
        }
    }
}

impl Decoder {
    pub(crate) fn new(table: &'static Table) -> Self {
        Decoder { table, cells: 0 }
    }

    /// The object that a message's bytes stand for.
    pub(crate) fn object(&mut self, place: usize, bytes: &[u8]) -> Result<Object, Error> {
        let mut object = Object::new();
        self.fill(&mut object, place, &[bytes], 1)?;
        Ok(object)
    }

    /// Reads a message into an object that stands at a depth; says whether it is all zero.
    ///
    /// A message may come in several parts, which count as if they stood one behind the other.
    fn fill(
        &mut self,
        object: &mut Object,
        place: usize,
        parts: &[&[u8]],
        depth: usize,
    ) -> Result<bool, Error> {
        limit(depth)?;
        self.count(MESSAGE_CELLS)?;
        let fields = &self.table.message(place).fields;
        let found = self.sort(fields, parts)?;
        let mut found = found.as_slice();
        let mut all_zero = true;
        for (index, field) in fields.iter().enumerate() {
            let count = found.partition_point(|(at, _)| *at <= index);
            let (wires, rest) = found.split_at(count);
            found = rest;
            let result = match (field.label, field.kind) {
                (Label::Inline, Type::Message(inner)) => {
                    parts_of(wires).and_then(|parts| self.fill(object, inner, &parts, depth))
                }
                _ => self.field(field, wires, depth).map(|read| {
                    read.is_none_or(|read| {
                        object.insert(field.name.clone(), read.value);
                        read.zero && field.label != Label::Pointer
                    })
                }),
            };
            all_zero &= match field.label {
                Label::Inline => result?,
                _ => result.map_err(|error| error.within(&field.name))?,
            };
        }
        Ok(all_zero)
    }

    /// The known fields of a message, each with the place of its field in the table, in its order.
    fn sort<'a>(
        &mut self,
        fields: &[Field],
        parts: &[&'a [u8]],
    ) -> Result<Vec<(usize, Wire<'a>)>, Problem> {
        let mut found = Vec::new();
        for part in parts {
            let mut reader = Reader::new(part);
            while let Some((number, wire)) = reader.field()? {
                if let Ok(index) = fields.binary_search_by_key(&number, |field| field.number) {
                    self.count(1)?;
                    found.push((index, wire));
                }
            }
        }
        // Stable: the occurrences of a field keep their order.
        found.sort_by_key(|(index, _)| *index);
        Ok(found)
    }

    /// A field's value from all its occurrences; `None` when JSON leaves it out.
    fn field(
        &mut self,
        field: &Field,
        wires: &[(usize, Wire)],
        depth: usize,
    ) -> Result<Option<Read>, Error> {
        match field.label {
            Label::List => self.list(field.kind, wires, depth + 1),
            Label::Map => self.map(field.kind, wires, depth + 1),
            // An absent plain field is as good as a zero one.
            Label::Plain | Label::Pointer if wires.is_empty() => Ok(None),
            Label::Plain => {
                let read = self.value(field.kind, wires, depth)?;
                Ok(read.filter(|read| !read.zero))
            }
            Label::Pointer => self.value(field.kind, wires, depth),
            Label::Always | Label::Inline => {
                self.count(1)?;
                let read = self.value(field.kind, wires, depth)?;
                Ok(read.filter(|read| !read.value.is_null()))
            }
        }
    }

    fn list(
        &mut self,
        kind: Type,
        wires: &[(usize, Wire)],
        depth: usize,
    ) -> Result<Option<Read>, Error> {
        if wires.is_empty() {
            return Ok(None);
        }
        limit(depth)?;
        let mut list = Vec::new();
        for occurrence in wires {
            if let (Type::Bool | Type::Int32 | Type::Int64, Wire::Bytes(packed)) =
                (kind, occurrence.1)
            {
                let mut reader = Reader::new(packed);
                while !reader.is_done() {
                    self.count(1)?;
                    let number = Wire::Varint(reader.varint()?);
                    list.push(scalar(kind, number)?.value);
                }
                continue;
            }
            let value = self
                .value(kind, std::slice::from_ref(occurrence), depth)
                .map_err(|error| error.within(&format!("[{}]", list.len())))?;
            list.push(value.map_or(Value::Null, |read| read.value));
        }
        Ok(Some(Read::new(list, false)))
    }

    fn map(
        &mut self,
        kind: Type,
        wires: &[(usize, Wire)],
        depth: usize,
    ) -> Result<Option<Read>, Error> {
        if wires.is_empty() {
            return Ok(None);
        }
        limit(depth)?;
        let mut map = Object::new();
        for (_, entry) in wires {
            let mut key = "";
            let mut values = Vec::new();
            let mut reader = Reader::new(entry.bytes()?);
            while let Some((number, wire)) = reader.field()? {
                match number {
                    1 => key = wire.text()?,
                    2 => {
                        self.count(1)?;
                        values.push((0, wire));
                    }
                    _ => {}
                }
            }
            let value = self
                .value(kind, &values, depth)
                .map_err(|error| error.within(&format!("[{key:?}]")))?;
            let value = value.map_or(Value::Null, |read| read.value);
            map.insert(key.to_owned(), value);
        }
        Ok(Some(Read::new(map, false)))
    }

    /// One value from all occurrences of a field; the last one counts, messages are joined.
    ///
    /// `depth` is that of the object or list that it stands in.
    fn value(
        &mut self,
        kind: Type,
        wires: &[(usize, Wire)],
        depth: usize,
    ) -> Result<Option<Read>, Error> {
        match kind {
            Type::String | Type::Bool | Type::Int32 | Type::Int64 | Type::Double | Type::Bytes => {
                match wires.last() {
                    Some((_, wire)) => Ok(Some(scalar(kind, *wire)?)),
                    None => Ok(absent(kind)),
                }
            }
            Type::Message(place) => {
                let parts = parts_of(wires)?;
                self.message(place, &parts, depth).map(Some)
            }
            Type::Time => Ok(special::time(&parts_of(wires)?)?),
            Type::MicroTime => Ok(special::micro_time(&parts_of(wires)?)?),
            Type::Quantity => Ok(special::quantity(&parts_of(wires)?)?),
            Type::IntOrString => Ok(Some(special::int_or_string(&parts_of(wires)?)?)),
            Type::Json => Ok(Some(special::raw_json(&parts_of(wires)?, depth)?)),
            Type::Strings => {
                let items = self.strings(1, &parts_of(wires)?, depth + 1)?;
                Ok(Some(Read::new(items, false)))
            }
            Type::SchemaOrArray(_) | Type::SchemaOrBool(_) | Type::SchemaOrStrings(_) => {
                let parts = parts_of(wires)?;
                let value = self.schema_or(kind, &parts, depth)?;
                Ok(Some(Read::new(value, false)))
            }
        }
    }

    fn message(&mut self, place: usize, parts: &[&[u8]], depth: usize) -> Result<Read, Error> {
        let mut object = Object::new();
        let all_zero = self.fill(&mut object, place, parts, depth + 1)?;
        Ok(Read::new(object, all_zero))
    }

    /// A schema or something else; Go decides by what is there.
    fn schema_or(&mut self, kind: Type, parts: &[&[u8]], depth: usize) -> Result<Value, Error> {
        let schema = |decoder: &mut Self, place, number| {
            let found = occurrences(number, parts)?;
            if found.is_empty() {
                return Ok(None);
            }
            let parts = parts_of(&found)?;
            decoder
                .message(place, &parts, depth)
                .map(|read| Some(read.value))
        };
        match kind {
            Type::SchemaOrArray(place) => {
                let list = occurrences(2, parts)?;
                match self.list(Type::Message(place), &list, depth + 1)? {
                    Some(read) => Ok(read.value),
                    None => Ok(schema(self, place, 1)?.unwrap_or(Value::Null)),
                }
            }
            Type::SchemaOrStrings(place) => {
                let strings = self.strings(2, parts, depth + 1)?;
                if strings.is_empty() {
                    Ok(schema(self, place, 1)?.unwrap_or(Value::Null))
                } else {
                    Ok(strings.into())
                }
            }
            Type::SchemaOrBool(place) => match schema(self, place, 2)? {
                Some(schema) => Ok(schema),
                None => match occurrences(1, parts)?.last() {
                    Some((_, wire)) => Ok(Value::Bool(wire.varint()? != 0)),
                    None => Ok(Value::Bool(false)),
                },
            },
            _ => Ok(Value::Null),
        }
    }

    fn strings(&mut self, number: u32, parts: &[&[u8]], depth: usize) -> Result<Vec<Value>, Error> {
        limit(depth)?;
        let mut strings = Vec::new();
        for (_, wire) in occurrences(number, parts)? {
            self.count(1)?;
            strings.push(Value::from(wire.text()?));
        }
        Ok(strings)
    }

    fn count(&mut self, cells: usize) -> Result<(), Problem> {
        self.cells += cells;
        if self.cells > CELLS {
            return Err(Problem::TooMany);
        }
        Ok(())
    }
}

fn limit(depth: usize) -> Result<(), Problem> {
    if depth > DEPTH {
        return Err(Problem::TooDeep);
    }
    Ok(())
}

/// The occurrences of one field.
fn occurrences<'a>(number: u32, parts: &[&'a [u8]]) -> Result<Vec<(usize, Wire<'a>)>, Problem> {
    let mut found = Vec::new();
    for part in parts {
        let mut reader = Reader::new(part);
        while let Some((other, wire)) = reader.field()? {
            if other == number {
                found.push((0, wire));
            }
        }
    }
    Ok(found)
}

/// The parts of a message, which are all of its field's occurrences.
fn parts_of<'a>(wires: &[(usize, Wire<'a>)]) -> Result<Vec<&'a [u8]>, Error> {
    let parts = wires.iter().map(|(_, wire)| wire.bytes());
    Ok(parts.collect::<Result<_, _>>()?)
}

/// What stands on the wire for a type that is no message.
fn scalar(kind: Type, wire: Wire) -> Result<Read, Problem> {
    match kind {
        Type::Bool => {
            let truth = wire.varint()? != 0;
            Ok(Read::new(truth, !truth))
        }
        Type::Int32 => {
            // Go takes the lower half of what it finds.
            let number = wire.varint()? as i32;
            Ok(Read::new(number, number == 0))
        }
        Type::Int64 => {
            let number = wire.varint()?.cast_signed();
            Ok(Read::new(number, number == 0))
        }
        Type::Double => match wire {
            Wire::Fixed64(bits) => special::double(f64::from_bits(bits)),
            Wire::Varint(_) | Wire::Fixed32 | Wire::Bytes(_) => Err(Problem::OtherWireType),
        },
        Type::Bytes => {
            let bytes = wire.bytes()?;
            Ok(Read::new(STANDARD.encode(bytes), bytes.is_empty()))
        }
        _ => {
            let text = wire.text()?;
            Ok(Read::new(text, text.is_empty()))
        }
    }
}

/// What JSON says for a type that is no message when it is not on the wire.
fn absent(kind: Type) -> Option<Read> {
    match kind {
        Type::Bool => Some(Read::new(false, true)),
        Type::Int32 | Type::Int64 | Type::Double => Some(Read::new(0, true)),
        Type::String => Some(Read::new("", true)),
        _ => None,
    }
}
