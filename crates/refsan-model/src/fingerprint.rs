//! The identity of a finding across rebuilds, line moves, versions and machines.

use serde::{Deserialize, Serialize};

/// Twelve hexadecimal digits that stay the same for the same fault.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// Hashes the parts in order. Parts must carry no address, line or version.
    ///
    /// FNV-1a is enough: the parts are few, and nobody gains from a collision.
    pub fn of<'a>(parts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        let mut eat = |byte: u8| {
            hash ^= u64::from(byte);
            hash = hash.wrapping_mul(0x0000_0100_0000_01b3);
        };
        for part in parts {
            part.bytes().for_each(&mut eat);
            eat(0);
        }
        Fingerprint(format!("{:012x}", hash >> 16))
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_kept_apart() {
        assert_ne!(Fingerprint::of(["ab", "c"]), Fingerprint::of(["a", "bc"]));
        assert_eq!(Fingerprint::of(["ab", "c"]), Fingerprint::of(["ab", "c"]));
        assert_eq!(Fingerprint::of(["ab"]).to_string().len(), 12);
    }
}
