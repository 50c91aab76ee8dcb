//! Members of source distributions: tar files, packed with gzip or not.

use super::content::FileBytes;
use super::limits::{Budget, Limits};
use super::magic::{self, Kind};
use super::{Content, Entry, Step, read_member};
use flate2::read::MultiGzDecoder;
use std::fmt;
use std::io::{self, Cursor, Read};
use tar::{EntryType, Header};

const BLOCK: u64 = 512;
/// The byte of a sparse map's block that says whether another one follows.
const SPARSE_GOES_ON: usize = 504;
/// Longest member name and extension record that is taken.
const NAME_LIMIT: u64 = 64 << 10;

/// An open tar file. The member headers are walked here, because a reader that hands out its
/// members borrows from itself, and because extension records must not be read without bound.
pub(super) struct Tarball {
    name: String,
    stream: Box<dyn BoundedRead>,
    members: u64,
    /// Bytes up to the next header.
    pending: u64,
    long_name: Option<String>,
    /// What an extended header says instead of the next header.
    long_size: Option<u64>,
}

impl Tarball {
    pub(super) fn new(
        name: String,
        bytes: FileBytes,
        kind: Kind,
        limits: &Limits,
    ) -> Result<Self, String> {
        let packed = bytes.len() as u64;
        let cursor = Cursor::new(bytes);
        let stream: Box<dyn BoundedRead> = match kind {
            Kind::Gzip => {
                let mut head = [0; magic::HEAD];
                let mut probe = MultiGzDecoder::new(cursor.get_ref().as_ref());
                let length = read_up_to(&mut probe, &mut head)
                    .map_err(|error| format!("not a sound gzip file: {error}"))?;
                if Kind::of(&head[..length]) != Kind::Tar {
                    return Err("expected a tar file in the gzip file, found another one".into());
                }
                Box::new(Guarded {
                    inner: MultiGzDecoder::new(cursor),
                    limits: *limits,
                    packed,
                    unpacked: 0,
                })
            }
            _ => Box::new(Guarded {
                inner: cursor,
                limits: *limits,
                packed,
                unpacked: 0,
            }),
        };
        Ok(Self {
            name,
            stream,
            members: 0,
            pending: 0,
            long_name: None,
            long_size: None,
        })
    }

    /// Reads the next member.
    pub(super) fn step(&mut self, limits: &Limits, budget: &mut Budget) -> Step {
        match self.member(limits, budget) {
            Ok(step) => step,
            Err(error) => Step::End(Some(Entry {
                name: self.name.clone(),
                content: Content::Unreadable(format!(
                    "the tar file cannot be read after {} members: {error}",
                    self.members
                )),
            })),
        }
    }

    fn member(&mut self, limits: &Limits, budget: &mut Budget) -> io::Result<Step> {
        let pending = std::mem::take(&mut self.pending);
        skip(&mut self.stream, pending)?;
        let mut block = [0; BLOCK as usize];
        let length = read_up_to(&mut self.stream, &mut block)?;
        // Two blocks of zeros end the file; some writers leave them out.
        if length == 0 || block.iter().all(|byte| *byte == 0) {
            return Ok(Step::End(None));
        }
        if length < block.len() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.members += 1;
        if self.members > limits.entries {
            return Err(io::Error::other("more members than allowed"));
        }
        let header = Header::from_byte_slice(&block);
        check(header)?;
        let is_extension = matches!(
            header.entry_type(),
            EntryType::GNULongName | EntryType::GNULongLink | EntryType::XHeader
        );
        let long_size = self.long_size.take_if(|_| !is_extension);
        let size = match long_size {
            Some(size) => size,
            None => header
                .entry_size()
                .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "no size in a header"))?,
        };
        let padded = size
            .checked_next_multiple_of(BLOCK)
            .ok_or(io::ErrorKind::InvalidData)?;
        match header.entry_type() {
            EntryType::GNULongName | EntryType::XHeader => {
                let mut bytes = Vec::new();
                let wanted = size.min(NAME_LIMIT);
                self.stream.by_ref().take(wanted).read_to_end(&mut bytes)?;
                self.pending = padded - bytes.len() as u64;
                self.long_name = if header.entry_type() == EntryType::XHeader {
                    self.long_size = extended(&bytes, b"size").and_then(|size| size.parse().ok());
                    extended(&bytes, b"path").or(self.long_name.take())
                } else {
                    let text = String::from_utf8_lossy(&bytes);
                    Some(text.trim_end_matches('\0').to_owned())
                };
                return Ok(Step::Nothing);
            }
            EntryType::Regular | EntryType::Continuous => {}
            EntryType::GNUSparse => {
                // The map of holes may go on in blocks that the size does not count.
                let mut more = header.as_gnu().is_some_and(tar::GnuHeader::is_extended);
                while more {
                    let mut block = [0; BLOCK as usize];
                    self.stream.read_exact(&mut block)?;
                    more = block[SPARSE_GOES_ON] == 1;
                }
                self.pending = padded;
                self.long_name = None;
                return Ok(Step::Nothing);
            }
            // Only names, whatever size they give.
            EntryType::Link
            | EntryType::Symlink
            | EntryType::Char
            | EntryType::Block
            | EntryType::Directory
            | EntryType::Fifo => {
                self.long_name = None;
                return Ok(Step::Nothing);
            }
            // The name of a link's target.
            EntryType::GNULongLink => {
                self.pending = padded;
                return Ok(Step::Nothing);
            }
            _ => {
                self.pending = padded;
                self.long_name = None;
                return Ok(Step::Nothing);
            }
        }
        let inner = self
            .long_name
            .take()
            .unwrap_or_else(|| String::from_utf8_lossy(&header.path_bytes()).into_owned());
        let name = format!("{}!{inner}", self.name);
        let mut member = self.stream.by_ref().take(size);
        let entry = read_member(name, &inner, size, &mut member, limits, budget);
        self.pending = padded - (size - member.limit());
        Ok(entry.map_or(Step::Nothing, Step::Entry))
    }
}

/// The checksum tells a header from other data.
fn check(header: &Header) -> io::Result<()> {
    let mut sum = 8 * i64::from(b' ');
    let mut signed_sum = sum;
    for (index, byte) in header.as_bytes().iter().enumerate() {
        if !(148..156).contains(&index) {
            sum += i64::from(*byte);
            signed_sum += i64::from(byte.cast_signed());
        }
    }
    // Some old writers added signed bytes.
    if header
        .cksum()
        .is_ok_and(|given| [sum, signed_sum].contains(&given.into()))
    {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "wrong checksum of a member header",
        ))
    }
}

/// A record of an extended header: `LENGTH KEY=VALUE\n`.
fn extended(bytes: &[u8], key: &[u8]) -> Option<String> {
    tar::PaxExtensions::new(bytes)
        .flatten()
        .find(|record| record.key_bytes() == key)
        .map(|record| String::from_utf8_lossy(record.value_bytes()).into_owned())
}

fn skip(stream: &mut impl Read, bytes: u64) -> io::Result<()> {
    io::copy(&mut stream.take(bytes), &mut io::sink()).map(|_| ())
}

/// Fills the buffer as far as there is data.
fn read_up_to(reader: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while let Some(rest) = buffer.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

trait BoundedRead: Read {}

impl<R: Read> BoundedRead for Guarded<R> {}

/// Stops a stream that unpacks to far more than a distribution would.
struct Guarded<R> {
    inner: R,
    limits: Limits,
    packed: u64,
    unpacked: u64,
}

impl<R: Read> Read for Guarded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.unpacked += read as u64;
        if self.unpacked > self.limits.total_bytes {
            return Err(io::Error::other("more bytes than allowed when unpacked"));
        }
        if !self.limits.allows_ratio(self.unpacked, self.packed) {
            return Err(io::Error::other("looks like a decompression bomb"));
        }
        Ok(read)
    }
}

impl fmt::Debug for Tarball {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Tarball({}, {})", self.name, self.members)
    }
}
