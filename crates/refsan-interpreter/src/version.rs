//! Which interpreter it is: the key to every layout.

use core::fmt;

/// A release of CPython and its kind of build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    hex: u32,
    free_threaded: bool,
}

impl Version {
    /// From `PY_VERSION_HEX` (the exported `Py_Version` of 3.11+), as in `0x030d00f0`.
    #[must_use]
    pub const fn from_hex(hex: u32, free_threaded: bool) -> Self {
        Self { hex, free_threaded }
    }

    /// From what `Py_GetVersion()` returns, as in `3.13.0 experimental free-threading build (…`.
    /// None when it does not start with a version.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        let number = text.split([' ', '+']).next()?;
        let mut parts = number.splitn(3, '.');
        let major: u8 = parts.next()?.parse().ok()?;
        let minor: u8 = parts.next()?.parse().ok()?;
        let last = parts.next()?;
        let digits = last
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(last.len());
        let (micro, suffix) = last.split_at_checked(digits)?;
        let micro: u8 = micro.parse().ok()?;
        let (level, serial) = if suffix.is_empty() {
            (0xF, "0")
        } else if let Some(serial) = suffix.strip_prefix("rc") {
            (0xC, serial)
        } else if let Some(serial) = suffix.strip_prefix('b') {
            (0xB, serial)
        } else {
            (0xA, suffix.strip_prefix('a')?)
        };
        let serial: u8 = serial.parse().ok().filter(|serial| *serial < 16)?;
        let hex = u32::from_be_bytes([major, minor, micro, level << 4 | serial]);
        Some(Self {
            hex,
            free_threaded: text.contains("free-threading build"),
        })
    }

    /// `PY_VERSION_HEX`.
    #[must_use]
    pub const fn hex(self) -> u32 {
        self.hex
    }

    /// The 3 of 3.14.2.
    #[must_use]
    pub const fn major(self) -> u8 {
        (self.hex >> 24) as u8
    }

    /// The 14 of 3.14.2.
    #[must_use]
    pub const fn minor(self) -> u8 {
        (self.hex >> 16) as u8
    }

    /// The 2 of 3.14.2.
    #[must_use]
    pub const fn micro(self) -> u8 {
        (self.hex >> 8) as u8
    }

    /// True for alphas and betas, whose layouts still move.
    #[must_use]
    pub const fn is_unsettled(self) -> bool {
        self.hex & 0xF0 < 0xC0
    }

    /// True for a build in which several threads can be attached at once.
    #[must_use]
    pub const fn is_free_threaded(self) -> bool {
        self.free_threaded
    }

    pub(crate) const fn at_least(self, minor: u8) -> bool {
        self.minor() >= minor
    }
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}.{}.{}",
            self.major(),
            self.minor(),
            self.micro()
        )?;
        match (self.hex >> 4 & 0xF, self.hex & 0xF) {
            (0xF, _) => {}
            (0xC, serial) => write!(formatter, "rc{serial}")?,
            (0xB, serial) => write!(formatter, "b{serial}")?,
            (_, serial) => write!(formatter, "a{serial}")?,
        }
        formatter.write_str(if self.free_threaded {
            " free-threaded"
        } else {
            ""
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Version;
    use std::string::ToString;

    #[test]
    fn text_and_hex_agree() {
        for (text, hex, free_threaded, shown) in [
            (
                "3.8.18 (default, May  9 2026)",
                0x0308_12f0,
                false,
                "3.8.18",
            ),
            (
                "3.15.0rc1 free-threading build (main)",
                0x030f_00c1,
                true,
                "3.15.0rc1 free-threaded",
            ),
            (
                "3.13.0 experimental free-threading build (x)",
                0x030d_00f0,
                true,
                "3.13.0 free-threaded",
            ),
            ("3.14.0b4+ (heads/main)", 0x030e_00b4, false, "3.14.0b4"),
            ("3.12.0a7", 0x030c_00a7, false, "3.12.0a7"),
        ] {
            let version = Version::from_text(text).expect(text);
            assert_eq!(version, Version::from_hex(hex, free_threaded));
            assert_eq!(version.to_string(), shown);
        }
        for text in [
            "",
            "3",
            "3.8",
            "x.y.z",
            "3.8.",
            "3.8.1zz",
            "3.8.1rc99",
            "999.1.1",
            "3.8.é",
        ] {
            assert_eq!(Version::from_text(text), None, "{text}");
        }
    }
}
