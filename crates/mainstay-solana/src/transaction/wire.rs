//! Numbers and lengths as the chain writes them.
//!
//! A length is a compact-u16: seven bits per byte, the lowest first, the eighth bit says that another byte follows. A node
//! accepts only the shortest form, and so does this reader: otherwise one transaction would have several encodings.

use solana_address::Address;

use super::error::DecodeError;

/// Reads from the front of a slice and knows where it is.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// What has not been read.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    pub(super) fn take(&mut self, count: usize, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let (taken, _) =
            self.rest().split_at_checked(count).ok_or(DecodeError::Truncated { at: self.bytes.len(), field })?;
        self.at += count;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N, field)?);
        Ok(array)
    }

    pub(super) fn byte(&mut self, field: &'static str) -> Result<u8, DecodeError> {
        self.array::<1>(field).map(|[byte]| byte)
    }

    pub(super) fn u32(&mut self, field: &'static str) -> Result<u32, DecodeError> {
        self.array(field).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, field: &'static str) -> Result<u64, DecodeError> {
        self.array(field).map(u64::from_le_bytes)
    }

    pub(super) fn address(&mut self, field: &'static str) -> Result<Address, DecodeError> {
        self.array(field).map(Address::new_from_array)
    }

    /// A compact-u16 in its shortest form.
    pub(super) fn length(&mut self, field: &'static str) -> Result<usize, DecodeError> {
        let start = self.at;
        let refused = DecodeError::NonCanonicalLength { at: start };
        let mut value = 0_u32;
        for shift in [0, 7, 14] {
            let byte = self.byte(field)?;
            // A last byte of zero adds nothing: a shorter form exists.
            if byte == 0 && shift > 0 {
                return Err(refused);
            }
            value |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return u16::try_from(value).map(usize::from).map_err(|_| refused);
            }
        }
        Err(refused)
    }

    /// A length and as many bytes.
    pub(super) fn counted_bytes(&mut self, field: &'static str) -> Result<&'a [u8], DecodeError> {
        let count = self.length(field)?;
        self.take(count, field)
    }
}

/// Writes a length as a compact-u16. Messages are checked to be small, so every length fits.
pub(super) fn write_length(bytes: &mut Vec<u8>, length: usize) {
    let mut rest = length;
    while rest >= 0x80 {
        bytes.push(low_bits(rest) | 0x80);
        rest >>= 7;
    }
    bytes.push(low_bits(rest));
}

/// The lowest seven bits.
fn low_bits(value: usize) -> u8 {
    (value & 0x7f).to_le_bytes()[0]
}

pub(super) fn write_counted_bytes(bytes: &mut Vec<u8>, content: &[u8]) {
    write_length(bytes, content.len());
    bytes.extend_from_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<usize, DecodeError> {
        Reader::new(bytes).length("x")
    }

    #[test]
    fn every_length_is_read_as_it_was_written_and_only_in_that_form() {
        for length in 0..=usize::from(u16::MAX) {
            let mut bytes = Vec::new();
            write_length(&mut bytes, length);
            assert_eq!(read(&bytes), Ok(length));
            assert_eq!(bytes.len(), 1 + usize::from(length > 0x7f) + usize::from(length > 0x3fff), "{length}");
        }
    }

    #[test]
    fn lengths_of_the_documentation_are_read() {
        // The examples of the wire format's documentation.
        for (bytes, length) in
            [(&[0x00][..], 0), (&[0x7f], 0x7f), (&[0x80, 0x01], 0x80), (&[0xff, 0x01], 0xff), (&[0x80, 0x02], 0x100)]
        {
            assert_eq!(read(bytes), Ok(length));
        }
        assert_eq!(read(&[0xff, 0xff, 0x01]), Ok(0x7fff));
        assert_eq!(read(&[0x80, 0x80, 0x01]), Ok(0x4000));
        assert_eq!(read(&[0xff, 0xff, 0x03]), Ok(0xffff));
    }

    #[test]
    fn longer_forms_and_numbers_above_16_bits_are_refused() {
        for bytes in [&[0x80, 0x00][..], &[0xff, 0x00], &[0x80, 0x80, 0x00], &[0xff, 0xff, 0x04], &[0x80, 0x80, 0x80]] {
            assert_eq!(read(bytes), Err(DecodeError::NonCanonicalLength { at: 0 }), "{bytes:?}");
        }
        assert_eq!(read(&[0x80]), Err(DecodeError::Truncated { at: 1, field: "x" }));
    }

    #[test]
    fn a_reader_never_goes_past_the_end() {
        let mut reader = Reader::new(&[1, 2, 3]);
        assert_eq!(reader.u32("number"), Err(DecodeError::Truncated { at: 3, field: "number" }));
        assert_eq!(reader.rest(), [1, 2, 3], "a failed read takes nothing");
        assert_eq!(reader.take(3, "x"), Ok(&[1, 2, 3][..]));
        assert_eq!(reader.byte("x"), Err(DecodeError::Truncated { at: 3, field: "x" }));
        assert_eq!(reader.take(usize::MAX, "x"), Err(DecodeError::Truncated { at: 3, field: "x" }));
    }
}
