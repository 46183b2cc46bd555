//! Runs of the fuzz targets over the seeds, over real news items where available, and over
//! thousands of inputs derived from them.
//!
//! `STET_FUZZ_INPUTS` sets the number of inputs for each kind. `STET_FUZZ_SEED` repeats the choices
//! of a run.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use serde_json::{Value, json};
use stet_actors::families::Families;
use stet_xml::Limits;

use super::*;

/// Texts that are difficult for parsers, each in its own way.
const WORDS: &[&[u8]] = &[
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\\ud800",
    b"\\u0000",
    b"%",
    b"%2F",
    b"%00",
    b"%FF",
    b"$",
    b".",
    b"..",
    b"//",
    b"?uuid=",
    b"&",
    b"=",
    b"+",
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b";",
    b"\r\n",
    b"--b",
    b"--",
    b"<",
    b">",
    b"/>",
    b"</",
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b"]]>",
    b"<!DOCTYPE a [",
    b"&#0;",
    b"&#x10FFFF;",
    b"&lt;",
    b"#text",
    b"@",
    b"null",
    b"-1",
    b"1e999",
    b"4294967296",
    b"18446744073709551616",
    b"\xdd\xff\xff\xff\xff",
    b"\xc6\xff\xff\xff\xff",
    b"\x7f",
    b"\x80",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xae",
    b"\t",
    b" ",
];

/// xorshift64*: all that choices need.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % sides.max(1)
    }
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name} is no number: {value}")))
}

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The files of a folder and below it, in order.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).expect("it can be listed").map(|entry| entry.expect("it can be listed").path()).collect();
    paths.sort();
    let read = |path: PathBuf| match path.is_dir() {
        true => files(&path),
        false => vec![(path.clone(), fs::read(&path).expect("it can be read"))],
    };
    paths.into_iter().flat_map(read).collect()
}

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let files = files(&repository().join("fuzz/seeds").join(target));
    files.into_iter().map(|(_, bytes)| bytes).collect()
}

/// Returns inputs for a target from real news items.
fn wire(target: &str) -> Vec<Vec<u8>> {
    let folder = repository().join("../shared/wire");
    if !folder.is_dir() {
        println!("no news items at {}: without them", folder.display());
        return Vec::new();
    }
    let of_file = |(path, bytes): (PathBuf, Vec<u8>)| {
        let ending = path.extension()?.to_str()?;
        match (target, ending) {
            // Texts of the repository are UTF-8 and say nothing else.
            ("xml", "xml") => {
                Some(bytes).filter(|bytes| !bytes.starts_with(b"<?xml version=\"1.0\" encoding=\"ISO-8859-1\""))
            }
            ("attributes", "xml") => {
                let text = String::from_utf8(bytes).ok()?;
                let limits = Limits { max_depth: 24, max_bytes: 64 << 10, ..Limits::UNBOUNDED };
                Some(stet_xml::to_json(&text, &limits).ok()?.to_string().into_bytes())
            }
            ("attributes", "json") => {
                let item: Value = serde_json::from_slice(&bytes).ok()?;
                Some(json!({ "news": { "item": item } }).to_string().into_bytes())
            }
            ("json_body", "json") => Some([b";{\"item\": ".as_slice(), &bytes, b"}"].concat()),
            _ => None,
        }
    };
    files(&folder).into_iter().filter_map(of_file).collect()
}

/// Returns an input derived from one or two others.
fn changed(dice: &mut Dice, inputs: &[Vec<u8>]) -> Vec<u8> {
    let mut input = inputs[dice.roll(inputs.len())].clone();
    for _ in 0..=dice.roll(4) {
        let at = dice.roll(input.len() + 1);
        let end = (at + dice.roll(16)).min(input.len());
        match dice.roll(8) {
            0 if at < input.len() => input[at] ^= 1 << dice.roll(8),
            1 if at < input.len() => input[at] = dice.roll(256) as u8,
            2 => drop(input.drain(at..end)),
            3 => {
                let piece = input[at..end].repeat(1 + dice.roll(30));
                input.splice(at..at, piece);
            }
            4 => {
                let other = &inputs[dice.roll(inputs.len())];
                let from = dice.roll(other.len() + 1);
                input.splice(at.., other[from..].iter().copied());
            }
            5 => input.truncate(at),
            _ => drop(input.splice(at..end.min(at + dice.roll(3)), WORDS[dice.roll(WORDS.len())].iter().copied())),
        }
    }
    input.truncate(100_000);
    input
}

/// Prints the input if a check panics.
struct InputOnPanic<'a>(&'static str, &'a [u8]);

impl Drop for InputOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the input of `{}`: {:?}", self.0, Bytes::copy_from_slice(self.1));
        }
    }
}

fn look_at(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).expect("there is such a target");
    let run = |input: &[u8]| {
        let _input = InputOnPanic(target.name, input);
        (target.run)(input)
    };
    let own = seeds(name);
    let taken = own.iter().filter(|input| run(input)).count();
    // Else they lead nowhere.
    assert!(taken >= 2 && own.len() - taken >= 3, "{taken} of the {} seeds of {name} are taken", own.len());
    let items = wire(name);
    let refused = items.iter().filter(|item| !run(item)).count();
    assert_eq!(refused, 0, "real news items are refused by {name}");
    let inputs = [own, items].concat();
    let seed = setting("STET_FUZZ_SEED").unwrap_or(0x5eed);
    println!("STET_FUZZ_SEED={seed}");
    let mut dice = Dice(seed.max(1));
    for _ in 0..setting("STET_FUZZ_INPUTS").unwrap_or(2000) {
        run(&changed(&mut dice, &inputs));
    }
}

macro_rules! looks {
    ($($target:ident),+) => {
        $(#[test]
        fn $target() {
            look_at(stringify!($target));
        })+

        #[test]
        fn every_target_is_looked_at_and_has_a_program_and_seeds() {
            let mut names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($target)),+]);
            let programs = repository().join("fuzz/targets");
            let mut programs: Vec<String> = files(&programs)
                .into_iter()
                .map(|(path, text)| {
                    let name = path.file_stem().expect("a program has a name").to_string_lossy().into_owned();
                    assert!(String::from_utf8_lossy(&text).contains(&format!("run(\"{name}\", data)")), "{name}");
                    name
                })
                .collect();
            names.sort_unstable();
            programs.sort_unstable();
            assert_eq!(programs, names);
        }
    };
}

looks!(source, query, headers, json_body, multipart, attributes, edits, xpath, xml, declarations, dates, rows, journal);

/// Checks that rows and the journal are written byte for byte as in the seeds, so that the seeds
/// stay in a readable format. After an intended change, `UPDATE_GOLDEN=1` writes them anew. Then
/// the row's format must be raised, or the row must have a new field at its end (see
/// `stet_domain::store::Row`).
#[test]
fn stored_formats_match_their_seeds_byte_for_byte() {
    let stored = samples::stored();
    for kind in Families::ALL.parts().filter(|kind| kind.has_rows()) {
        let of_it = |(target, _, bytes): &(&str, &str, Vec<u8>)| *target == "rows" && bytes[0] == rows::number_of(kind);
        assert!(stored.iter().any(of_it), "there is no sample of {kind:?}");
    }
    for (target, name, bytes) in stored {
        let path = repository().join("fuzz/seeds").join(target).join(name);
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, &bytes).expect("a seed can be written");
        }
        let seed = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(Bytes::from(bytes.clone()), Bytes::from(seed), "{}", path.display());
        let taken = TARGETS.iter().any(|known| known.name == target && (known.run)(&bytes));
        assert!(taken, "{target} does not take {name}");
    }
}
