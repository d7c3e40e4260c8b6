//! Just enough protobuf to write what no client writes.

pub fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value > 0x7f {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// A field with a number.
pub fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

/// A field with text, bytes or a message.
pub fn bytes(field: u64, value: impl AsRef<[u8]>) -> Vec<u8> {
    let value = value.as_ref();
    [
        varint(field << 3 | 2),
        varint(value.len() as u64),
        value.to_vec(),
    ]
    .concat()
}

/// A message from its fields.
pub fn message(fields: &[Vec<u8>]) -> Vec<u8> {
    fields.concat()
}

/// A body of a kind.
pub fn body(api_version: &str, kind: &str, raw: impl AsRef<[u8]>) -> Vec<u8> {
    let type_meta = message(&[bytes(1, api_version), bytes(2, kind)]);
    message(&[b"k8s\0".to_vec(), bytes(1, type_meta), bytes(2, raw)])
}
