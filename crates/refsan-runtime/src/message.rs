//! Words on standard error, for the few things that a person must know at once.

use core::fmt::Write;

/// A line that is cut when it is too long.
struct Line {
    bytes: [u8; 512],
    used: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for byte in text.bytes() {
            if let Some(place) = self.bytes.get_mut(self.used) {
                *place = byte;
                self.used += 1;
            }
        }
        Ok(())
    }
}

/// Prints; the text ends with its own line feed.
pub fn print(text: core::fmt::Arguments<'_>) {
    let mut line = Line {
        bytes: [0; 512],
        used: 0,
    };
    let _ = line.write_fmt(text);
    // SAFETY: the buffer holds `used` bytes; a failure to print is of no consequence.
    unsafe { libc::write(2, line.bytes.as_ptr().cast(), line.used) };
}
