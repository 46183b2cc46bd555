//! A plain scan of all texts beside a search.

use std::io::{BufWriter, Write};
use std::process::Command;
use std::time::{Duration, Instant};

use stet_testkit::{Server, encoded};

use crate::corpus::Corpus;
use crate::figures::FigureTable;
use crate::servers::INDEX_FOLDER;
use crate::wire::{UserSession, WireConnection, run};

/// The number of words that are looked for both ways.
const WORDS: usize = 20;
/// The largest share of the texts' bytes that the index should have.
const TARGET_SIZE: f64 = 0.35;

/// Measures `grep` over all texts in one file, a text on each line, beside searches for the same
/// words. The size of the index is compared with that file, too.
pub fn measure(corpus: &Corpus, server: &Server, table: &mut FigureTable) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file can be created");
    let mut output = BufWriter::new(file.as_file_mut());
    let mut bytes = 0;
    for article in corpus.articles() {
        bytes += article.text_bytes();
        let body = article.paragraphs.join(" ");
        writeln!(output, "{} {} {} {body}", article.headline, article.byline, article.summary)
            .expect("a temporary file can be written");
    }
    drop(output);
    let words: Vec<String> =
        (0..WORDS).map(|number| corpus.story(number % corpus.objects).keywords.swap_remove(0)).collect();
    let scans: Vec<Duration> = words.iter().map(|word| scan(file.path(), word)).collect();
    let searches = search(server, &words);
    table.times("grep over all texts in one file, ms", &scans, [None, None]);
    table.times("a search for the same words, ms", &searches, [None, None]);
    let ratios: Vec<f64> =
        scans.iter().zip(&searches).map(|(scan, search)| scan.as_secs_f64() / search.as_secs_f64()).collect();
    table.ratio("grep / search", &ratios, None);
    let index = size_of(&server.data().join(INDEX_FOLDER));
    table.megabytes("all texts", bytes as u64, None);
    table.megabytes("the index", index, None);
    table.share("the index / all texts", index as f64 / bytes as f64, TARGET_SIZE);
}

fn scan(texts: &std::path::Path, word: &str) -> Duration {
    let begun = Instant::now();
    let mut grep = Command::new("grep");
    grep.env("LC_ALL", "C.UTF-8").args(["-c", "-i", "-w", "-F", "-e", word]).arg(texts);
    // Its output is read. If it were discarded, the scan would end at the first match.
    let output = grep.output().expect("`grep` can be run");
    assert!(output.status.success(), "`{word}` is in the texts");
    begun.elapsed()
}

fn search(server: &Server, words: &[String]) -> Vec<Duration> {
    let session = UserSession::of(server, "editor");
    run(async {
        let mut connection = WireConnection::open(&session.address).await;
        let mut times = Vec::new();
        for word in words {
            let request = session.request("GET", &format!("/v3/search?query={}", encoded(word)));
            let begun = Instant::now();
            connection.call_patiently(&request).await;
            times.push(begun.elapsed());
        }
        times
    })
}

/// Returns the bytes of all files in a folder.
pub fn size_of(folder: &std::path::Path) -> u64 {
    let entries = std::fs::read_dir(folder).expect("the folder can be read").flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum()
}
