//! Round trips, merges, and files that are damaged or made to do harm.

use proptest::prelude::*;

use super::*;
use crate::MAX_TIME_MS;

const TIMELINE: TimelineId = TimelineId(1);

fn record(previous: u64, last: u64, at_ms: u64, payload: &[u8]) -> ArchiveRecord {
    ArchiveRecord { previous, last, at_ms, payload: Bytes::copy_from_slice(payload) }
}

/// Makes a file of records.
fn file(predecessor: Option<Sha256Hash>, least_ms: u64, records: &[ArchiveRecord]) -> ArchiveFile {
    let mut writer = ArchiveWriter::new(predecessor, least_ms);
    records.iter().for_each(|record| writer.push(record).unwrap());
    writer.finish().unwrap()
}

fn read(file: &ArchiveFile) -> (ArchiveHeader, Vec<ArchiveRecord>) {
    ArchiveFile::read(&file.header.name(TIMELINE), &file.bytes).unwrap()
}

/// Makes records after `previous` from their numbers of changes, times and payloads.
fn records_from(mut previous: u64, parts: &[(u64, u64, Vec<u8>)]) -> Vec<ArchiveRecord> {
    let next = |(changes, at_ms, payload): &(u64, u64, Vec<u8>)| {
        let record = record(previous, previous + changes, *at_ms, payload);
        previous = record.last;
        record
    };
    parts.iter().map(next).collect()
}

/// Returns the records with the times that an archive gives them.
fn with_times_in_order(records: &[ArchiveRecord], mut least_ms: u64) -> Vec<ArchiveRecord> {
    let next = |record: &ArchiveRecord| {
        least_ms = least_ms.max(record.at_ms.min(MAX_TIME_MS));
        ArchiveRecord { at_ms: least_ms, ..record.clone() }
    };
    records.iter().map(next).collect()
}

fn parts() -> impl Strategy<Value = Vec<(u64, u64, Vec<u8>)>> {
    let time = prop_oneof![4 => 1_000..2_000_u64, 1 => any::<u64>()];
    prop::collection::vec((1..5_u64, time, prop::collection::vec(any::<u8>(), 0..50)), 1..12)
}

/// Replaces the hash at the end, as somebody does who makes a hostile file.
fn reseal(bytes: &mut [u8]) {
    let end = bytes.len() - SUM;
    let hash = Sha256Hash::of(&bytes[..end]);
    bytes[end..].copy_from_slice(&hash.0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn records_are_read_as_they_were_written(parts in parts(), previous in 0..1_000_u64, least_ms in 0..2_000_u64) {
        let records = records_from(previous, &parts);
        let file = file(None, least_ms, &records);
        let (header, found) = read(&file);
        prop_assert_eq!(&header, &file.header);
        prop_assert_eq!(&found, &with_times_in_order(&records, least_ms));
        prop_assert_eq!(header.span.first, previous + 1);
        prop_assert_eq!(header.span.last, records.last().unwrap().last);
        prop_assert_eq!(header.ends_as, header.hash);
    }

    /// Compares merges, also of merged files, with one file of all records.
    #[test]
    fn merged_files_have_all_records_and_keep_the_chain(
        groups in prop::collection::vec(parts(), 2..6), split in any::<prop::sample::Index>(),
    ) {
        let (mut files, mut all) = (Vec::<ArchiveFile>::new(), Vec::new());
        let (mut previous, mut least_ms) = (0, 0);
        for parts in &groups {
            let records = records_from(previous, parts);
            let made = file(files.last().map(|file| file.header.ends_as), least_ms, &records);
            (previous, least_ms) = (made.header.span.last, made.header.span.last_ms);
            all.extend(read(&made).1);
            files.push(made);
        }
        let named = |files: &[ArchiveFile]| -> Vec<_> {
            files.iter().map(|file| (file.header.name(TIMELINE), file.bytes.clone())).collect()
        };
        let split = 1 + split.index(files.len() - 1);
        let (front, back) = files.split_at(split);
        let merged_front = ArchiveFile::merge(&named(front)).unwrap();
        let merged_back = ArchiveFile::merge(&named(back)).unwrap();
        prop_assert!(merged_front.header.is_followed_by(&back[0].header), "the successor of merged files");
        prop_assert!(front.last().unwrap().header.is_followed_by(&merged_back.header), "merged files as successor");
        prop_assert!(merged_front.header.is_followed_by(&merged_back.header));
        let merged = ArchiveFile::merge(&named(&[merged_front, merged_back])).unwrap();
        let (header, found) = read(&merged);
        prop_assert_eq!(found, all);
        prop_assert_eq!(header.predecessor, None);
        prop_assert_eq!(header.ends_as, files.last().unwrap().header.hash);
        prop_assert_eq!(header.span.first_ms, files[0].header.span.first_ms);
        prop_assert_eq!(header.span.last_ms, files.last().unwrap().header.span.last_ms);
    }

    #[test]
    fn a_changed_or_cut_file_is_damaged(parts in parts(), at in any::<prop::sample::Index>(), flip in 1..=255_u8) {
        let file = file(None, 0, &records_from(0, &parts));
        let name = file.header.name(TIMELINE);
        let at = at.index(file.bytes.len());
        let mut changed = file.bytes.to_vec();
        changed[at] ^= flip;
        for bytes in [&changed[..], &file.bytes[..at]] {
            let found = ArchiveFile::read(&name, bytes);
            prop_assert!(matches!(found, Err(BackupError::Damaged { .. })), "{found:?}");
        }
    }

    /// Changes a file and its checksum, so that the checks behind it are reached.
    #[test]
    fn a_hostile_file_is_read_without_panic(
        parts in parts(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let file = file(None, 0, &records_from(0, &parts));
        let mut bytes = file.bytes.to_vec();
        let end = bytes.len() - SUM;
        for (at, byte) in changes {
            bytes[at.index(end)] = byte;
        }
        reseal(&mut bytes);
        if let Ok((header, records)) = ArchiveFile::read(&file.header.name(TIMELINE), &bytes) {
            prop_assert_eq!(header.records as usize, records.len());
            prop_assert_eq!(header.span, file.header.span, "the name says what is in the file");
        }
    }

    /// Packs any bytes as records below a sound head and checksum.
    #[test]
    fn any_records_are_read_without_panic(raw in prop::collection::vec(any::<u8>(), 0..100), records in 1..3_u32) {
        let sound = file(None, 0, &[record(0, 1, 5, b"x")]);
        let mut bytes = sound.bytes[..HEAD].to_vec();
        bytes[12..16].copy_from_slice(&records.to_le_bytes());
        bytes[16..24].copy_from_slice(&(raw.len() as u64).to_le_bytes());
        bytes.extend(crate::packing::pack(&raw).unwrap());
        bytes.extend([0; SUM]);
        reseal(&mut bytes);
        let found = ArchiveFile::read(&sound.header.name(TIMELINE), &bytes);
        prop_assert!(matches!(found, Err(BackupError::Damaged { .. })), "{found:?}");
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let name = file(None, 0, &[record(0, 1, 5, b"x")]).header.name(TIMELINE);
        prop_assert!(ArchiveFile::read(&name, &bytes).is_err());
    }
}

#[test]
fn records_that_do_not_follow_are_refused_and_leave_the_file_as_it_was() {
    let mut writer = ArchiveWriter::new(None, 0);
    writer.push(&record(4, 6, 10, b"first")).unwrap();
    for (previous, last) in [(5, 7), (7, 8), (6, 6), (6, 5), (0, 1)] {
        let refused = writer.push(&record(previous, last, 11, b"other"));
        assert!(matches!(refused, Err(BackupError::Refused(_))), "from {previous} to {last}");
    }
    writer.push(&record(6, 7, 11, b"second")).unwrap();
    let (header, records) = read(&writer.finish().unwrap());
    assert_eq!(records, [record(4, 6, 10, b"first"), record(6, 7, 11, b"second")]);
    assert_eq!(header.span, ArchiveSpan { first: 5, last: 7, first_ms: 10, last_ms: 11 });
}

#[test]
fn a_file_has_a_record() {
    assert!(matches!(ArchiveWriter::new(None, 0).finish(), Err(BackupError::Refused(_))));
    assert!(matches!(ArchiveFile::merge::<Bytes>(&[]), Err(BackupError::Refused(_))));
}

/// Checks the bound with zeros, which compress well but are counted as they are.
#[test]
fn a_file_takes_no_more_than_can_be_read() {
    let mut writer = ArchiveWriter::new(None, 0);
    let large = ArchiveRecord { previous: 0, last: 1, at_ms: 0, payload: Bytes::from(vec![0; MAX_RAW_BYTES]) };
    assert!(!writer.has_room_for(&large));
    assert!(matches!(writer.push(&large), Err(BackupError::Refused(_))));
    let fitting = ArchiveRecord { payload: large.payload.slice(RECORD_HEAD..), ..large };
    assert!(writer.has_room_for(&fitting), "without the bytes around it");
    writer.push(&record(0, 1, 0, b"")).unwrap();
    assert!(!writer.has_room_for(&ArchiveRecord { previous: 1, last: 2, ..fitting }), "not any more");
    assert_eq!(writer.raw_bytes(), RECORD_HEAD);
}

#[test]
fn a_time_never_precedes_the_one_before() {
    let records = [record(0, 1, 50, b""), record(1, 2, 40, b""), record(2, 3, u64::MAX, b""), record(3, 4, 60, b"")];
    let (_, found) = read(&file(None, 45, &records));
    assert_eq!(found.iter().map(|record| record.at_ms).collect::<Vec<_>>(), [50, 50, MAX_TIME_MS, MAX_TIME_MS]);
    let (_, found) = read(&file(None, 70, &records[..2]));
    assert_eq!(found.iter().map(|record| record.at_ms).collect::<Vec<_>>(), [70, 70]);
}

#[test]
fn files_that_do_not_follow_are_not_merged() {
    let first = file(None, 0, &[record(0, 1, 5, b"a")]);
    let second = file(Some(first.header.ends_as), 5, &[record(1, 2, 6, b"b")]);
    let third = file(Some(second.header.ends_as), 6, &[record(2, 3, 7, b"c")]);
    let stranger = file(Some(Sha256Hash([9; 32])), 5, &[record(1, 2, 6, b"b")]);
    let merge = |files: &[&ArchiveFile]| {
        let files: Vec<_> = files.iter().map(|file| (file.header.name(TIMELINE), file.bytes.clone())).collect();
        ArchiveFile::merge(&files)
    };
    assert!(merge(&[&first, &second, &third]).is_ok());
    for files in [[&first, &third], [&second, &first], [&first, &stranger], [&first, &first]] {
        assert!(matches!(merge(&files), Err(BackupError::Damaged { .. })));
    }
}

#[test]
fn a_file_under_another_name_is_damaged() {
    let file = file(None, 0, &[record(0, 1, 5, b"a")]);
    let span = ArchiveSpan { last_ms: 6, ..file.header.span };
    for name in [BackupName::Archive(TIMELINE, span), BackupName::Identity] {
        let found = ArchiveFile::read(&name, &file.bytes);
        assert!(matches!(found, Err(BackupError::Damaged { .. })), "{found:?}");
    }
}

#[test]
fn a_newer_format_is_refused_with_its_number() {
    let file = file(None, 0, &[record(0, 1, 5, b"a")]);
    let mut bytes = file.bytes.to_vec();
    bytes[8] = 2;
    reseal(&mut bytes);
    let error = ArchiveFile::read(&file.header.name(TIMELINE), &bytes).unwrap_err();
    assert!(matches!(&error, BackupError::Refused(text) if text.contains("the format 2")), "{error}");
}

/// Checks that a head can't make a reader unpack more than is allowed.
#[test]
fn a_head_out_of_bounds_is_damaged() {
    let file = file(None, 0, &[record(0, 1, 5, b"a")]);
    for (field, value) in [(16, MAX_RAW_BYTES as u64 + 1), (16, 5), (16, 500), (24, 0), (32, 0), (48, MAX_TIME_MS + 1)]
    {
        let mut bytes = file.bytes.to_vec();
        bytes[field..field + 8].copy_from_slice(&value.to_le_bytes());
        reseal(&mut bytes);
        let found = ArchiveFile::read(&file.header.name(TIMELINE), &bytes);
        assert!(matches!(found, Err(BackupError::Damaged { .. })), "{field}: {found:?}");
    }
}
