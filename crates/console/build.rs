//! Packs the folder `console` into the crate: every file with its compressed forms, and the table
//! of all files, which `src/lib.rs` includes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

#[path = "src/packing.rs"]
mod packing;

/// The page that loads everything else. It has an address of its own.
const INDEX: &str = "index.html";

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../console");
    println!("cargo::rerun-if-changed={}", root.display());
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("Cargo names the folder of the output"));
    let mut files = BTreeMap::new();
    collect(&root, "", &mut files);
    let folder = format!("assets-{}", hash_of_all(&files));
    let index = files.remove(INDEX).expect("the console has an index.html");
    let index = packing::fill_index(&text(INDEX, &index), &folder, &modules(&files));

    let mut table = format!(
        "/// The folder of all assets, whose name changes with any of them.\npub const FOLDER: &str = {folder:?};\n\n"
    );
    table.push_str("static INDEX: ConsoleFile = ");
    write_file(&mut table, &out, 0, INDEX, index.as_bytes());
    table.push_str(";\n\nstatic ASSETS: &[ConsoleFile] = &[\n");
    for (number, (path, bytes)) in (1..).zip(&files) {
        write_file(&mut table, &out, number, path, bytes);
        table.push_str(",\n");
    }
    table.push_str("];\n");
    fs::write(out.join("files.rs"), table).expect("the table can be written");
}

/// Reads all served files of a folder, by their paths below the root with `/` between names.
fn collect(folder: &Path, below: &str, files: &mut BTreeMap<String, Vec<u8>>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("an entry of the console's folder can be read").path();
        let name = path.file_name().and_then(|name| name.to_str()).expect("names of the console's files are UTF-8");
        let at = format!("{below}{name}");
        if !packing::is_served(&at) {
            continue;
        }
        if path.is_dir() {
            collect(&path, &format!("{at}/"), files);
        } else {
            files.insert(at, fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
        }
    }
}

/// Returns a hash of all paths and bytes. Lengths separate them, so that no two sets of files are
/// the same text.
fn hash_of_all(files: &BTreeMap<String, Vec<u8>>) -> String {
    let mut hash = Sha256::new();
    for (path, bytes) in files {
        for part in [path.as_bytes(), bytes] {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
    }
    in_hex(&hash.finalize())
}

/// Returns the first 16 digits of a hash.
fn in_hex(hash: &[u8]) -> String {
    hash[..8].iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn text(path: &str, bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap_or_else(|_| panic!("console/{path} is not UTF-8"))
}

/// Returns the modules that `main.js` loads before it runs.
fn modules(files: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let read = |path: &str| files.get(path).map(|bytes| text(path, bytes));
    packing::modules_of("main.js", read).unwrap_or_else(|fault| panic!("console/{fault}"))
}

/// Writes a file's entry in the table, and its forms into the folder of the output.
fn write_file(table: &mut String, out: &Path, number: usize, path: &str, bytes: &[u8]) {
    let media_type = packing::media_type(path).unwrap_or_else(|| {
        panic!("console/{path} is of no known type: add its extension to `media_type` in crates/console/src/packing.rs")
    });
    let include = |form: &str, bytes: &[u8]| {
        let to = out.join(format!("{number}.{form}"));
        fs::write(&to, bytes).expect("a form of a file can be written");
        format!("include_bytes!({:?})", to.to_str().expect("the folder of the output is UTF-8"))
    };
    let smaller = |form: &str, coded: Vec<u8>| match coded.len() < bytes.len() {
        true => format!("Some({})", include(form, &coded)),
        false => "None".to_owned(),
    };
    let _ = write!(
        table,
        "ConsoleFile {{ path: {path:?}, media_type: {media_type:?}, tag: {:?}, plain: {}, brotli: {}, gzip: {} }}",
        in_hex(&Sha256::digest(bytes)),
        include("plain", bytes),
        smaller("br", in_brotli(bytes)),
        smaller("gz", in_gzip(bytes)),
    );
}

fn in_brotli(bytes: &[u8]) -> Vec<u8> {
    let mut coded = Vec::new();
    // Buffer, quality, and the window's size in bits: the best.
    let mut coder = brotli::CompressorWriter::new(&mut coded, 4096, 11, 22);
    coder.write_all(bytes).expect("bytes in memory can be written");
    drop(coder);
    coded
}

fn in_gzip(bytes: &[u8]) -> Vec<u8> {
    let mut coder = GzEncoder::new(Vec::new(), Compression::best());
    coder.write_all(bytes).and_then(|()| coder.finish()).expect("bytes in memory can be written")
}
