//! `co_linetable` of 3.11+: entries of a head (top bit set, then a 4-bit form and the number of code
//! units less one) and what the form asks for (top bits clear): columns, and for some a difference of
//! the line as a variable-length integer.

/// Bytes of one code unit.
const UNIT: i64 = 2;

pub(crate) fn locations(
    mut table: impl Iterator<Item = u8>,
    first_line: i64,
    offset: i64,
) -> Option<i64> {
    let (mut line, mut end) = (first_line, 0_i64);
    let mut head = table.next()?;
    while head & 0x80 != 0 {
        let form = head >> 3 & 0xF;
        let lines = match form {
            10..=12 => i64::from(form).wrapping_sub(10),
            13 | 14 => signed(&mut table)?,
            _ => 0,
        };
        line = line.checked_add(lines)?;
        end = end.checked_add(i64::from(head & 7).wrapping_add(1).wrapping_mul(UNIT))?;
        if offset < end {
            return (form != 15).then_some(line);
        }
        head = table.find(|byte| byte & 0x80 != 0)?;
    }
    None
}

/// Six bits a byte, the lowest first; 0x40 says that more follow; the lowest bit is the sign.
fn signed(table: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let mut value = 0_i64;
    for shift in [0, 6, 12, 18, 24, 30] {
        let byte = table.next().filter(|byte| byte & 0x80 == 0)?;
        value |= i64::from(byte & 0x3F) << shift;
        if byte & 0x40 == 0 {
            let magnitude = value >> 1;
            return Some(if value & 1 == 0 {
                magnitude
            } else {
                magnitude.wrapping_neg()
            });
        }
    }
    None
}
