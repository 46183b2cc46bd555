//! Round trips, the effect of changes, and chunks that are damaged or made to do harm.

use std::collections::{BTreeMap, HashSet};

use proptest::prelude::*;

use super::*;

type Table = BTreeMap<Vec<u8>, Vec<u8>>;

/// Sizes in the proportions of [`SIZES`], for tables that are cut in no time.
const SMALL: ChunkSizes = ChunkSizes { least: 256, mean: 768, most: 4096 };

fn cut(table: &Table) -> Vec<TableChunk> {
    let mut cutter = ChunkCutter::with_sizes(SMALL);
    let mut chunks: Vec<_> = table.iter().filter_map(|(key, value)| cutter.push(key, value).unwrap()).collect();
    chunks.extend(cutter.finish());
    chunks
}

fn read(chunk: &TableChunk) -> Vec<(Bytes, Bytes)> {
    read_chunk(&chunk.reference.sha256, &chunk.pack().unwrap()).unwrap().collect()
}

/// The rows of a table as they are in a chunk.
fn raw_of(rows: &[(&[u8], &[u8])]) -> Vec<u8> {
    let field = |field: &[u8]| [&(field.len() as u32).to_le_bytes(), field].concat();
    rows.iter().flat_map(|(key, value)| [field(key), field(value)].concat()).collect()
}

/// A small generator of numbers that are the same in each run: a table in many thousands may have
/// more than three chunks that change, and tests must not depend on luck.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    /// A value of a row: of similar sizes, of very different sizes, or mostly small ones.
    fn value(&mut self, kind: u64) -> Vec<u8> {
        let size = match (kind, self.below(50)) {
            (0, _) => 4 + self.below(20),
            (1, _) => 10 + self.below(600),
            (_, 0) => 1500,
            (_, _) => 10 + self.below(60),
        };
        (0..size).map(|_| self.below(256) as u8).collect()
    }

    fn key(&mut self) -> Vec<u8> {
        self.below(1 << 40).to_be_bytes().to_vec()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn rows_are_read_as_they_were_written(
        table in prop::collection::btree_map(
            prop::collection::vec(any::<u8>(), 0..12),
            prop_oneof![9 => prop::collection::vec(any::<u8>(), 0..100), 1 => Just(vec![1; 5_000])],
            0..100,
        ),
    ) {
        let chunks = cut(&table);
        let rows: Vec<_> = chunks.iter().map(read).collect();
        let expected: Vec<_> = table.into_iter().map(|(key, value)| (Bytes::from(key), Bytes::from(value))).collect();
        prop_assert_eq!(rows.concat(), expected);
        for (number, chunk) in chunks.iter().enumerate() {
            let ChunkReference { sha256, rows: count, bytes } = chunk.reference;
            prop_assert_eq!(count as usize, rows[number].len());
            prop_assert_eq!(bytes as usize, chunk.raw.len());
            prop_assert_eq!(sha256, Sha256Hash::of(&chunk.raw));
            prop_assert!(chunk.raw.len() <= SMALL.most || count == 1, "{bytes} bytes, {count} rows");
            let next = rows.get(number + 1).map(|next| &next[0]);
            let is_cut_short =
                next.is_none_or(|(key, value)| chunk.raw.len() + LENGTHS + key.len() + value.len() > SMALL.most);
            prop_assert!(chunk.raw.len() >= SMALL.least || is_cut_short, "{bytes} bytes");
        }
    }

    #[test]
    fn a_changed_or_cut_chunk_is_damaged(
        values in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 1..10),
        at in any::<prop::sample::Index>(),
        flip in 1..=255_u8,
    ) {
        let table: Table = values.into_iter().enumerate().map(|(key, value)| (vec![key as u8], value)).collect();
        let chunk = &cut(&table)[0];
        let stored = chunk.pack().unwrap();
        let at = at.index(stored.len());
        let mut changed = stored.to_vec();
        changed[at] ^= flip;
        prop_assert!(read_chunk(&chunk.reference.sha256, &stored[..at]).is_err());
        // A few bits of a frame mean nothing. What is read is right then.
        match read_chunk(&chunk.reference.sha256, &changed) {
            Ok(rows) => prop_assert_eq!(rows.collect::<Vec<_>>(), read(chunk)),
            Err(error) => prop_assert!(matches!(error, BackupError::Damaged { .. }), "{error:?}"),
        }
    }

    #[test]
    fn any_bytes_are_read_without_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let hash = Sha256Hash::of(&bytes);
        let _ = read_chunk(&hash, &bytes);
        if let Ok(rows) = read_chunk(&hash, &pack(&bytes).unwrap()) {
            let rows: Vec<_> = rows.collect();
            let rows: Vec<_> = rows.iter().map(|(key, value)| (&key[..], &value[..])).collect();
            prop_assert_eq!(raw_of(&rows), bytes, "only what a cutter could have written is taken");
        }
    }
}

/// Changes, adds or removes one row of tables of more than 20 chunks, and counts the chunks that
/// have to be sent.
#[test]
fn a_change_of_a_row_changes_few_chunks() {
    let mut numbers = Numbers(1);
    let (mut tables, mut sent, mut all) = (0, 0, 0);
    for round in 0..120 {
        let kind = round % 3;
        let mut table = Table::new();
        let mut bytes = 0;
        while bytes < 40 << 10 {
            let (key, value) = (numbers.key(), numbers.value(kind));
            bytes += key.len() + value.len() + LENGTHS;
            table.insert(key, value);
        }
        let before: HashSet<_> = cut(&table).iter().map(|chunk| chunk.reference.sha256).collect();
        let key = table.keys().nth(numbers.below(table.len() as u64) as usize).unwrap().clone();
        match round / 3 % 3 {
            0 => drop(table.insert(key, numbers.value(kind))),
            1 => drop(table.insert(numbers.key(), numbers.value(kind))),
            _ => drop(table.remove(&key)),
        }
        let after = cut(&table);
        let changed = after.iter().filter(|chunk| !before.contains(&chunk.reference.sha256)).count();
        if before.len() > 20 {
            assert!(changed <= 3, "{changed} of {} chunks changed in round {round}", after.len());
            (tables, sent, all) = (tables + 1, sent + changed, all + after.len());
        }
    }
    assert!(tables > 60, "{tables} tables had more than 20 chunks");
    assert!(sent * 15 < all, "{sent} of {all} chunks changed");
}

/// Checks that the mean size depends on the bytes of a table and not on those of its rows.
#[test]
fn chunks_of_small_and_large_rows_have_similar_sizes() {
    let mut numbers = Numbers(2);
    for size in [8, 40, 400] {
        let table: Table = (0..200_000 / size).map(|_| (numbers.key(), vec![7; size as usize])).collect();
        let chunks = cut(&table);
        let mean = chunks.iter().map(|chunk| chunk.raw.len()).sum::<usize>() / chunks.len();
        assert!((700..1300).contains(&mean), "{mean} bytes for values of {size}");
    }
}

#[test]
fn the_sizes_of_chunks_are_those_documented() {
    let ChunkSizes { least, mean, most } = SIZES;
    assert_eq!((least, mean, most), (SMALL.least << 10, SMALL.mean << 10, SMALL.most << 10));
    let mut cutter = ChunkCutter::new();
    let value = vec![0; 64 << 10];
    let mut chunks: Vec<_> = (0..200_u32).filter_map(|key| cutter.push(&key.to_be_bytes(), &value).unwrap()).collect();
    assert!(chunks.iter().all(|chunk| (least..=most).contains(&chunk.raw.len())));
    chunks.extend(cutter.finish());
    assert_eq!(chunks.iter().map(|chunk| chunk.reference.rows).sum::<u64>(), 200);
}

#[test]
fn rows_out_of_order_are_refused() {
    let mut cutter = ChunkCutter::new();
    cutter.push(b"b", b"1").unwrap();
    for key in [&b"a"[..], b"b", b""] {
        assert!(matches!(cutter.push(key, b"2"), Err(BackupError::Refused(_))));
    }
    cutter.push(b"ba", b"3").unwrap();
    let rows = read(&cutter.finish().unwrap());
    assert_eq!(rows, [(Bytes::from("b"), Bytes::from("1")), (Bytes::from("ba"), Bytes::from("3"))]);
}

#[test]
fn a_row_that_could_not_be_read_is_refused() {
    let mut cutter = ChunkCutter::new();
    assert!(matches!(cutter.push(b"key", &vec![0; MAX_RAW_BYTES]), Err(BackupError::Refused(_))));
    assert_eq!(cutter.finish(), None);
}

#[test]
fn a_table_without_rows_has_no_chunk() {
    assert_eq!(ChunkCutter::new().finish(), None);
}

#[test]
fn rows_that_no_cutter_writes_are_damaged() {
    let row = raw_of(&[(b"b", b"1")]);
    let twice = raw_of(&[(b"b", b"1"), (b"b", b"2")]);
    let backwards = raw_of(&[(b"b", b"1"), (b"a", b"2")]);
    let far = u32::MAX.to_le_bytes().to_vec();
    for raw in [twice, backwards, far, row[..row.len() - 1].to_vec(), [&row[..], b"x"].concat()] {
        let found = read_chunk(&Sha256Hash::of(&raw), &pack(&raw).unwrap());
        assert!(matches!(found, Err(BackupError::Damaged { .. })), "{raw:?}: {found:?}");
    }
    assert_eq!(read_chunk(&Sha256Hash::of(&row), &pack(&row).unwrap()).unwrap().len(), 1);
}
