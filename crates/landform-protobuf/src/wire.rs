//! Protobuf's wire format: a message is a sequence of numbered fields.

use crate::error::Problem;

/// The largest field number that protobuf allows.
const LAST_FIELD: u64 = (1 << 29) - 1;

/// What stands on the wire for a field.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Wire<'a> {
    /// A number in 1 to 10 bytes.
    Varint(u64),
    /// Eight bytes.
    Fixed64(u64),
    /// Four bytes, which no field of Kubernetes has; unknown fields may.
    Fixed32,
    /// Text, bytes, a message, or packed numbers.
    Bytes(&'a [u8]),
}

impl<'a> Wire<'a> {
    /// The bytes, when it has the wire type of bytes.
    pub(crate) fn bytes(self) -> Result<&'a [u8], Problem> {
        match self {
            Wire::Bytes(bytes) => Ok(bytes),
            Wire::Varint(_) | Wire::Fixed64(_) | Wire::Fixed32 => Err(Problem::OtherWireType),
        }
    }

    /// The text, when it has the wire type of bytes.
    pub(crate) fn text(self) -> Result<&'a str, Problem> {
        std::str::from_utf8(self.bytes()?).map_err(|_| Problem::NotUtf8)
    }

    /// The number, when it has the wire type of numbers.
    pub(crate) fn varint(self) -> Result<u64, Problem> {
        match self {
            Wire::Varint(number) => Ok(number),
            Wire::Bytes(_) | Wire::Fixed64(_) | Wire::Fixed32 => Err(Problem::OtherWireType),
        }
    }
}

/// Reads fields or packed numbers off the front of some bytes.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// Whether all bytes have been read.
    pub(crate) fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next field and its number; `None` at the end.
    pub(crate) fn field(&mut self) -> Result<Option<(u32, Wire<'a>)>, Problem> {
        if self.is_done() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = tag >> 3;
        if number > LAST_FIELD {
            return Err(Problem::FieldNumber(number));
        }
        let field = u32::try_from(number).map_err(|_| Problem::FieldNumber(number))?;
        if field == 0 {
            return Err(Problem::FieldNumber(number));
        }
        let wire = match tag & 7 {
            0 => Wire::Varint(self.varint()?),
            1 => Wire::Fixed64(self.fixed64()?),
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| Problem::Truncated)?;
                Wire::Bytes(self.take(length)?)
            }
            5 => {
                self.take(4)?;
                Wire::Fixed32
            }
            // Groups (3 and 4) are not in Kubernetes, and would nest without a length to bound them.
            other => return Err(Problem::WireType(other.to_le_bytes()[0])),
        };
        Ok(Some((field, wire)))
    }

    /// A number in 1 to 10 bytes.
    pub(crate) fn varint(&mut self) -> Result<u64, Problem> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let [byte, rest @ ..] = self.rest else {
                return Err(Problem::Truncated);
            };
            self.rest = rest;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return Err(Problem::LongNumber);
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Problem::LongNumber)
    }

    /// Eight bytes, the lowest first.
    pub(crate) fn fixed64(&mut self) -> Result<u64, Problem> {
        let Some((bytes, rest)) = self.rest.split_first_chunk::<8>() else {
            return Err(Problem::Truncated);
        };
        self.rest = rest;
        Ok(u64::from_le_bytes(*bytes))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], Problem> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(Problem::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_each_wire_type() {
        let bytes = [
            8, 0x96, 1, // 1: varint 150
            0x11, 1, 0, 0, 0, 0, 0, 0, 0, // 2: fixed64
            0x1a, 2, b'h', b'i', // 3: bytes
            0x25, 0, 0, 0, 0, // 4: fixed32
        ];
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.field(), Ok(Some((1, Wire::Varint(150)))));
        assert_eq!(reader.field(), Ok(Some((2, Wire::Fixed64(1)))));
        assert_eq!(reader.field(), Ok(Some((3, Wire::Bytes(b"hi")))));
        assert_eq!(reader.field(), Ok(Some((4, Wire::Fixed32))));
        assert_eq!(reader.field(), Ok(None));
    }

    #[test]
    fn what_is_not_protobuf_is_refused() {
        let table: &[(&str, &[u8], Problem)] = &[
            ("a tag alone", &[8], Problem::Truncated),
            ("a number cut off", &[8, 0x80], Problem::Truncated),
            ("bytes cut off", &[0x0a, 3, 1], Problem::Truncated),
            ("eight bytes cut off", &[0x09, 3, 1], Problem::Truncated),
            ("a group", &[0x0b, 0x0c], Problem::WireType(3)),
            ("the end of a group", &[0x0c], Problem::WireType(4)),
            ("a wire type that isn't", &[0x0f], Problem::WireType(7)),
            ("field 0", &[2, 0], Problem::FieldNumber(0)),
            (
                "a number of 11 bytes",
                &[8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1],
                Problem::LongNumber,
            ),
            (
                "a number of 70 bits",
                &[8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2],
                Problem::LongNumber,
            ),
        ];
        for (what, bytes, problem) in table {
            let found = Reader::new(bytes).field();
            assert_eq!(found.as_ref(), Err(problem), "{what}");
        }
        let all_ones = [8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1];
        assert_eq!(
            Reader::new(&all_ones).field(),
            Ok(Some((1, Wire::Varint(u64::MAX))))
        );
    }
}
