//! `co_linetable` of 3.10: pairs of the length of a range of instructions in bytes and the signed
//! difference of its line to that of the range before.

/// This difference says that the range has no line.
const NO_LINE: i8 = -128;

pub(crate) fn ranges(
    mut table: impl Iterator<Item = u8>,
    first_line: i64,
    offset: i64,
) -> Option<i64> {
    let (mut line, mut end) = (first_line, 0_i64);
    while let (Some(length), Some(lines)) = (table.next(), table.next()) {
        let lines = lines.cast_signed();
        if lines != NO_LINE {
            line = line.checked_add(i64::from(lines))?;
        }
        end = end.checked_add(i64::from(length))?;
        if offset < end {
            return (lines != NO_LINE).then_some(line);
        }
    }
    None
}
