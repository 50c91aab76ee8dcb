//! `co_lnotab` of 3.8 and 3.9: pairs of an unsigned increment of the offset and a signed one of the
//! line.

pub(crate) fn increments(
    mut table: impl Iterator<Item = u8>,
    first_line: i64,
    offset: i64,
) -> Option<i64> {
    let (mut line, mut reached) = (first_line, 0_i64);
    while let (Some(step), Some(lines)) = (table.next(), table.next()) {
        reached = reached.checked_add(i64::from(step))?;
        if reached > offset {
            break;
        }
        line = line.checked_add(i64::from(lines.cast_signed()))?;
    }
    Some(line)
}
