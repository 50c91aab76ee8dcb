//! Text of bounded length, built without allocation.

/// UTF-8 in a fixed buffer.
pub(crate) struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Text<N> {
    pub(crate) const fn new() -> Self {
        Self {
            bytes: [0; N],
            length: 0,
        }
    }

    /// Appends a character; control characters, which could drive a terminal, are replaced.
    /// False when it does not fit any more.
    pub(crate) fn push(&mut self, character: char) -> bool {
        let shown = if character.is_control() {
            char::REPLACEMENT_CHARACTER
        } else {
            character
        };
        let mut encoded = [0; 4];
        let encoded = shown.encode_utf8(&mut encoded).as_bytes();
        let Some(end) = self.length.checked_add(encoded.len()) else {
            return false;
        };
        let Some(target) = self.bytes.get_mut(self.length..end) else {
            return false;
        };
        target.copy_from_slice(encoded);
        self.length = end;
        true
    }

    pub(crate) fn as_str(&self) -> &str {
        self.bytes
            .get(..self.length)
            .and_then(|bytes| core::str::from_utf8(bytes).ok())
            .unwrap_or_default()
    }
}
