//! The layout of `journal.wal`: a file head, and after it records of whole pages in any order.
//!
//! The head fills the first page: [`MAGIC`], format number (u64), salt (16 bytes), checksum of
//! those (u32). A record is a head of [`HEAD`] bytes (the file's salt, `previous` and `last` (u64
//! each), length of the payload (u32), checksum (u32) of all that and of the payload), the payload,
//! and zeros up to the page's end. Integers are little-endian, checksums CRC-32 (ISO 3309). The
//! salt is random and created with the file. So data from clients, wherever it is stored, cannot be
//! mistaken for a record. The tables keep the salt too, so that the journal of another directory is
//! not accepted.
//!
//! `journal.mark` has two halves, each at the beginning of a page: a magic of eight bytes, the
//! salt, a number (u64), the checksum of the record that ends with it (u32), and the checksum (u32)
//! of those. If that record is not known, the magic is [`MARK_ALONE`], and there is no checksum of
//! a record.

use stet_domain::store::Seq;

/// The alignment of records in bytes. Writing one never touches another, on disks with sectors of
/// 512 bytes or 4 KiB.
pub(super) const PAGE: usize = 4096;

/// The size of a record's head in bytes.
pub(super) const HEAD: usize = SALT + 8 + 8 + 4 + 4;

/// The size of one half of `journal.mark` in bytes.
pub(super) const MARK: usize = 8 + SALT + 8 + 4 + 4;

const MAGIC: &[u8; 8] = b"stet-wal";
const MARK_ALONE: &[u8; 8] = b"stet-mrk";
const MARK_OF_RECORD: &[u8; 8] = b"stet-mk2";
const SALT: usize = 16;
/// The offset of the checksum in a record's head.
const SUM: usize = HEAD - 4;
const FILE_HEAD: usize = 8 + 8 + SALT + 4;

/// The head of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordHead {
    /// The last change set before the record's.
    pub previous: Seq,
    /// The last change set of the record.
    pub last: Seq,
    /// The size of the payload in bytes.
    pub length: usize,
    /// The checksum of the head and the payload.
    pub sum: u32,
}

/// The content of `journal.mark`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MarkContent {
    /// The change up to which everything is in the journal or in the tables.
    pub sure: Seq,
    /// The checksum of the record whose last change that is; `None` if there is no such record. It
    /// distinguishes the journal from any other that contains a change of that number.
    pub sum: Option<u32>,
}

impl RecordHead {
    /// Returns the size of the whole record in bytes.
    pub fn size(&self) -> usize {
        (HEAD + self.length).next_multiple_of(PAGE)
    }
}

/// The head of a journal file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FileHead {
    pub format: u64,
    pub salt: Salt,
}

impl FileHead {
    /// Returns the first page of a file.
    pub fn page(&self) -> Vec<u8> {
        let mut page = Vec::with_capacity(PAGE);
        page.extend_from_slice(MAGIC);
        page.extend_from_slice(&self.format.to_le_bytes());
        page.extend_from_slice(&self.salt.0);
        let sum = crc32fast::hash(&page);
        page.extend_from_slice(&sum.to_le_bytes());
        page.resize(PAGE, 0);
        page
    }

    /// Parses a first page; returns `None` if it is not valid.
    pub fn read(page: &[u8]) -> Option<FileHead> {
        let head = page.get(..FILE_HEAD)?;
        let (said, sum) = head.split_at(FILE_HEAD - 4);
        let sound = said.starts_with(MAGIC) && sum == crc32fast::hash(said).to_le_bytes();
        let format = u64::from_le_bytes(array(&said[8..16]));
        sound.then(|| FileHead { format, salt: Salt(array(&said[16..])) })
    }
}

/// The random salt that distinguishes the records of a file from anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Salt([u8; SALT]);

impl Salt {
    /// Creates a random salt.
    pub fn random() -> Salt {
        Salt(rand::random())
    }

    /// Converts the salt to two numbers, which the tables keep.
    pub fn numbers(&self) -> [u64; 2] {
        [u64::from_le_bytes(array(&self.0[..8])), u64::from_le_bytes(array(&self.0[8..]))]
    }

    /// Creates the salt from its numbers.
    pub fn of([first, second]: [u64; 2]) -> Salt {
        let bytes = [first.to_le_bytes(), second.to_le_bytes()].concat();
        Salt(array(&bytes))
    }

    /// Encodes one half of `journal.mark` for the journal with this salt, in at most [`MARK`]
    /// bytes.
    pub fn mark(&self, marked: MarkContent) -> Vec<u8> {
        let magic = if marked.sum.is_some() { MARK_OF_RECORD } else { MARK_ALONE };
        let mut mark = [&magic[..], &self.0, &marked.sure.to_le_bytes()].concat();
        mark.extend(marked.sum.into_iter().flat_map(u32::to_le_bytes));
        let sum = crc32fast::hash(&mark);
        mark.extend_from_slice(&sum.to_le_bytes());
        mark
    }

    /// Parses a half of `journal.mark`, of [`MARK`] bytes. Returns `None` if it is damaged or
    /// belongs to another journal.
    pub fn marked(&self, half: &[u8]) -> Option<MarkContent> {
        let at = 8 + SALT;
        let sure = u64::from_le_bytes(array(half.get(at..at + 8)?));
        let sum = half.starts_with(MARK_OF_RECORD).then(|| half.get(at + 8..at + 12)).flatten();
        let marked = MarkContent { sure, sum: sum.map(|sum| u32::from_le_bytes(array(sum))) };
        half.starts_with(&self.mark(marked)).then_some(marked)
    }

    /// Builds a record in `record`. `fill` appends the payload after the head.
    pub fn sealed(
        &self,
        previous: Seq,
        last: Seq,
        record: &mut Vec<u8>,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> RecordHead {
        record.clear();
        record.extend_from_slice(&self.0);
        record.extend_from_slice(&previous.to_le_bytes());
        record.extend_from_slice(&last.to_le_bytes());
        record.resize(HEAD, 0);
        fill(record);
        let length = record.len() - HEAD;
        // Submission refuses sets of more than `LimitOptions::set_bytes`, and a batch is closed by
        // `batch_bytes`.
        let bytes = u32::try_from(length).expect("a commit is smaller than 4 GiB");
        record[SUM - 4..SUM].copy_from_slice(&bytes.to_le_bytes());
        let sum = sum(record);
        record[SUM..HEAD].copy_from_slice(&sum.to_le_bytes());
        record.resize(record.len().next_multiple_of(PAGE), 0);
        RecordHead { previous, last, length, sum }
    }

    /// Parses the head of a possible record at the beginning of a page. Only [`Salt::open`] checks
    /// whether the record is sound.
    pub fn claim(&self, page: &[u8]) -> Option<RecordHead> {
        let head = page.get(..HEAD).filter(|head| head.starts_with(&self.0))?;
        Some(RecordHead {
            previous: u64::from_le_bytes(array(&head[SALT..SALT + 8])),
            last: u64::from_le_bytes(array(&head[SALT + 8..SALT + 16])),
            length: u32::from_le_bytes(array(&head[SALT + 16..SUM])) as usize,
            sum: u32::from_le_bytes(array(&head[SUM..])),
        })
    }

    /// Returns a record's head and payload, if it is intact.
    pub fn open<'r>(&self, record: &'r [u8]) -> Option<(RecordHead, &'r [u8])> {
        let head = self.claim(record)?;
        let record = record.get(..HEAD.checked_add(head.length)?)?;
        (head.sum == sum(record)).then(|| (head, &record[HEAD..]))
    }
}

/// Computes the checksum of a record, which covers everything but itself.
fn sum(record: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&record[..SUM]);
    sum.update(&record[HEAD..]);
    sum.finalize()
}

/// Copies the first bytes of a slice into an array.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    std::array::from_fn(|index| bytes[index])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn record(salt: &Salt, payload: &[u8]) -> Vec<u8> {
        let mut record = b"what was in it before".to_vec();
        salt.sealed(7, 9, &mut record, |record| record.extend_from_slice(payload));
        record
    }

    proptest! {
        #[test]
        fn a_sealed_payload_is_opened(payload in prop::collection::vec(any::<u8>(), 0..9_000)) {
            let salt = Salt::random();
            let record = record(&salt, &payload);
            let sum = sum(&record[..HEAD + payload.len()]);
            let head = RecordHead { previous: 7, last: 9, length: payload.len(), sum };
            prop_assert_eq!(record.len(), head.size());
            prop_assert_eq!(salt.claim(&record), Some(head));
            prop_assert_eq!(salt.open(&record), Some((head, &payload[..])));
            prop_assert_eq!(Salt::random().open(&record), None);
        }

        #[test]
        fn a_changed_byte_is_noticed(
            payload in prop::collection::vec(any::<u8>(), 0..500),
            at in any::<prop::sample::Index>(),
            by in 1..=255u8,
        ) {
            let salt = Salt::random();
            let mut record = record(&salt, &payload);
            record[at.index(HEAD + payload.len())] ^= by;
            prop_assert_eq!(salt.open(&record), None);
        }

        #[test]
        fn a_record_cut_short_is_noticed(payload in prop::collection::vec(any::<u8>(), 0..500), cut in any::<prop::sample::Index>()) {
            let salt = Salt::random();
            let record = record(&salt, &payload);
            prop_assert_eq!(salt.open(&record[..cut.index(HEAD + payload.len())]), None);
        }
    }

    #[test]
    fn a_mark_is_read_back_and_damage_and_other_journals_are_noticed() {
        let salt = Salt::random();
        assert_eq!(Salt::of(salt.numbers()), salt);
        for sum in [None, Some(0), Some(0x1234_5678)] {
            let marked = MarkContent { sure: 77, sum };
            let mark = salt.mark(marked);
            assert!(mark.len() == if sum.is_some() { MARK } else { MARK - 4 });
            assert_eq!(salt.marked(&mark), Some(marked));
            assert_eq!(Salt::random().marked(&mark), None);
            assert_eq!(salt.marked(&mark[..mark.len() - 1]), None);
            for at in 0..mark.len() {
                let mut damaged = mark.clone();
                damaged[at] ^= 4;
                assert_eq!(salt.marked(&damaged), None, "byte {at}");
            }
        }
    }

    #[test]
    fn a_files_head_is_read_back_and_damage_noticed() {
        let head = FileHead { format: 3, salt: Salt::random() };
        let mut page = head.page();
        assert_eq!(page.len(), PAGE);
        assert_eq!(FileHead::read(&page), Some(head));
        page[9] ^= 1;
        assert_eq!(FileHead::read(&page), None);
        assert_eq!(FileHead::read(&page[..20]), None);
    }
}
