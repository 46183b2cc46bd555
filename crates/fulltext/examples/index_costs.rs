//! Measures an index of many documents: its size as a share of the texts, and times.
//!
//! `cargo run --release -p stet-fulltext --example index_costs [documents] [folder]` takes the
//! texts from a folder of text files, or makes German-like ones: words are as frequent as in
//! natural language (Zipf's law), rare words are often compounds, and words of a text recur in it.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use stet_fulltext::{
    Category, DocumentFilter, FilterFields, IndexDocument, IndexSettings, QueryOptions, SearchQuery, SearchRequest,
    SortOrder, TextIndex,
};

/// The number of different words of made texts.
const VOCABULARY: usize = 600_000;

/// Admits the documents of three quarters of all places.
struct PlaceFilter;

impl DocumentFilter for PlaceFilter {
    fn admits(&self, document: &FilterFields<'_>) -> bool {
        !document.place().is_multiple_of(4) && (document.is_visible() || document.has_owner("owner1"))
    }
}

/// A generator of pseudo-random numbers.
struct NumberSource(u64);

impl NumberSource {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 11) as usize % bound
    }

    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

const FREQUENT: &str = "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden \
    aus er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur \
    bis mehr durch man sein wurde sei Prozent hatte kann gegen vom können schon wenn habe seine Mark ihre dann unter wir \
    soll ich eines Jahr zwei Jahren diese dieser wieder keine Uhr seiner worden will zwischen immer Millionen was sagte";

/// Makes the words by rank.
fn vocabulary(numbers: &mut NumberSource) -> Vec<String> {
    let starts = [
        "b", "br", "d", "f", "fl", "g", "gr", "h", "k", "kl", "l", "m", "n", "p", "pr", "r", "s", "sch", "st", "t",
        "v", "w", "z",
    ];
    let middles = ["a", "e", "i", "o", "u", "ä", "ei", "au", "ie", "ö", "ü", "e", "a", "i"];
    let ends = ["n", "r", "l", "t", "ck", "ng", "rt", "s", "nd", "m", "ch", "lt", ""];
    let endings = ["", "", "en", "er", "e", "ung", "lich", "te", "ern", "es", "s"];
    let mut words: Vec<String> = FREQUENT.split_whitespace().map(str::to_owned).collect();
    let mut roots: Vec<String> = Vec::new();
    while words.len() < VOCABULARY {
        let word = if words.len() > 3_000 && numbers.below(100) < 45 {
            let (one, two) = (numbers.below(roots.len().min(20_000)), numbers.below(roots.len().min(20_000)));
            let link = ["", "s", "en", "", "er"][numbers.below(5)];
            format!("{}{link}{}{}", roots[one], roots[two].to_lowercase(), endings[numbers.below(endings.len())])
        } else {
            let mut root = String::new();
            for _ in 0..1 + numbers.below(2) {
                root.push_str(starts[numbers.below(starts.len())]);
                root.push_str(middles[numbers.below(middles.len())]);
                root.push_str(ends[numbers.below(ends.len())]);
            }
            if numbers.below(2) == 0 {
                root = root[..1].to_uppercase() + &root[1..];
            }
            roots.push(root.clone());
            root + endings[numbers.below(endings.len())]
        };
        words.push(word);
    }
    words
}

/// A maker of texts.
struct TextMaker {
    numbers: NumberSource,
    words: Vec<String>,
    sums: Vec<f64>,
}

impl TextMaker {
    fn new() -> Self {
        let mut numbers = NumberSource(0x5eed_1234_9876_abcd);
        let words = vocabulary(&mut numbers);
        let mut sum = 0.0;
        let sums = (0..words.len()).map(|rank| {
            sum += (rank as f64 + 2.7).powf(-1.15);
            sum
        });
        let sums = sums.collect();
        Self { numbers, words, sums }
    }

    fn text(&mut self, count: usize, used: &mut Vec<usize>) -> String {
        let mut text = String::new();
        for number in 0..count {
            let rank = if !used.is_empty() && self.numbers.below(100) < 25 {
                used[self.numbers.below(used.len())]
            } else {
                let target = self.numbers.unit() * self.sums[self.sums.len() - 1];
                self.sums.partition_point(|sum| *sum < target)
            };
            if rank >= 100 {
                used.push(rank);
            }
            text.push_str(&self.words[rank.min(self.words.len() - 1)]);
            text.push_str(if number % 12 == 11 { ". " } else { " " });
        }
        text
    }
}

/// Returns texts of some 3,000 bytes from the files of a folder.
fn file_texts(folder: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let text = String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned();
        let mut part = String::new();
        for line in text.lines() {
            part.push_str(line);
            part.push('\n');
            if part.len() >= 3_000 {
                texts.push(std::mem::take(&mut part));
            }
        }
        texts.push(part);
    }
    texts
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mut count: usize = arguments.next().map_or(50_000, |count| count.parse().unwrap());
    let folder = arguments.next();
    let language = arguments.next().unwrap_or_else(|| "de".to_owned());
    let mut maker = TextMaker::new();
    let texts = folder.as_deref().map(file_texts).unwrap_or_default();
    if !texts.is_empty() {
        count = count.min(texts.len());
    }
    let dir = tempfile::tempdir().unwrap();
    let settings = IndexSettings { languages: vec!["de".to_owned(), "en".to_owned()], writer_bytes: 16_000_000 };
    let index = TextIndex::open(&dir.path().join("index"), &settings).unwrap().0;
    let (mut bytes, mut making) = (0, Duration::ZERO);
    let started = Instant::now();
    for key in 0..count {
        let begun = Instant::now();
        let mut used = Vec::new();
        let name = maker.text(4, &mut used);
        let title = maker.text(7, &mut used);
        let text = texts.get(key).cloned().unwrap_or_else(|| maker.text(420, &mut used));
        making += begun.elapsed();
        bytes += name.len() + title.len() + text.len();
        let number = maker.numbers.next();
        index
            .put(IndexDocument {
                key: u128::from(number) << 64 | key as u128,
                place: u128::from(number % 300),
                revision: number % 9,
                visible: !number.is_multiple_of(5),
                owners: vec![format!("owner{}", number % 60)],
                kind: "story".to_owned(),
                family: "text".to_owned(),
                type_name: format!("Type{}", number % 12),
                status: Some(format!("Status{}", number % 5)),
                author: format!("Author {}", number % 200),
                created_ms: 1_700_000_000_000 + key as i64 * 61_003,
                modified_ms: 1_700_000_000_000 + key as i64 * 61_003 + (number % 99_999) as i64,
                language: Some(language.clone()),
                name,
                titles: vec![title],
                texts: vec![text],
                ..IndexDocument::default()
            })
            .unwrap();
        if key % 5_000 == 4_999 {
            index.commit(key as u64).unwrap();
        }
    }
    index.commit(1).unwrap();
    let elapsed = started.elapsed() - making;
    println!("{count} documents, {:.1} MB of text, indexed in {:.1} s", bytes as f64 / 1e6, elapsed.as_secs_f64());
    drop(index);
    let begun = Instant::now();
    let index = TextIndex::open(&dir.path().join("index"), &settings).unwrap().0;
    println!("opened in {:.2} s", begun.elapsed().as_secs_f64());
    print_sizes(&dir.path().join("index"), bytes, index.size_bytes());
    print_times(&index, &maker);
}

/// Prints the sizes of the index by kind of file.
fn print_sizes(dir: &std::path::Path, bytes: usize, size: u64) {
    println!("index: {:.1} MB, {:.1} % of the text", size as f64 / 1e6, size as f64 * 100.0 / bytes as f64);
    let mut kinds = std::collections::BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let kind = path.extension().map_or(String::new(), |kind| kind.to_string_lossy().into_owned());
        *kinds.entry(kind).or_insert(0) += path.metadata().unwrap().len();
    }
    for (kind, size) in kinds {
        println!("  {kind}: {:.1} %", size as f64 * 100.0 / bytes as f64);
    }
    let reader = tantivy::Index::open_in_dir(dir).unwrap().reader().unwrap();
    let mut fields: std::collections::BTreeMap<String, [u64; 3]> = std::collections::BTreeMap::new();
    for segment in reader.searcher().segment_readers() {
        let usage = segment.space_usage().unwrap();
        let parts = [usage.termdict(), usage.postings(), usage.positions()];
        for (number, part) in parts.into_iter().enumerate() {
            for field in part.fields() {
                let name = field.field_name().to_owned();
                fields.entry(name).or_default()[number] += field.total().get_bytes();
            }
        }
    }
    println!("  {} segments; shares of dictionary, postings, positions:", reader.searcher().segment_readers().len());
    for (name, sizes) in fields {
        println!("  {name}: {:.1?} %", sizes.map(|size| size as f64 * 100.0 / bytes as f64));
    }
}

/// Prints the times of some queries.
fn print_times(index: &TextIndex, maker: &TextMaker) {
    let word = |rank: usize| maker.words[rank].clone();
    let queries = [
        ("all documents", String::new()),
        ("most frequent word", word(0)),
        ("frequent word", word(120)),
        ("rare word", word(40_000)),
        ("two words", format!("{} {}", word(150), word(900))),
        ("phrase of frequent words", format!("\"{} {}\"", word(0), word(1))),
        ("prefix of one letter", "s*".to_owned()),
        ("prefix of three letters", format!("{}*", word(300).chars().take(3).collect::<String>())),
        ("32 words with OR", (0..32).map(|rank| word(200 + rank)).collect::<Vec<_>>().join(" OR ")),
        ("without a word", format!("-{}", word(200))),
    ];
    for (what, text) in queries {
        let query = SearchQuery::parse(&text, QueryOptions::default()).unwrap();
        let mut request = SearchRequest::new(&query, &PlaceFilter);
        request.facets = Category::ALL.to_vec();
        let mut times = [SortOrder::Relevance, SortOrder::Name].map(|sort| {
            request.sort = sort;
            let run = |_| {
                let begun = Instant::now();
                let total = index.search(&request).unwrap().total;
                (begun.elapsed(), total)
            };
            let mut runs: Vec<(Duration, u64)> = (0..15).map(run).collect();
            runs.sort();
            runs[7]
        });
        let [relevance, name] = &mut times;
        println!(
            "{what}: {:.1} ms by relevance, {:.1} ms by name, {} found",
            relevance.0.as_secs_f64() * 1e3,
            name.0.as_secs_f64() * 1e3,
            relevance.1
        );
    }
    for text in ["s", "sch", "ba"] {
        let begun = Instant::now();
        let found = index.suggest(text, &PlaceFilter, 10).unwrap();
        println!("suggestions for {text}: {:.1} ms, {}", begun.elapsed().as_secs_f64() * 1e3, found.join(" "));
    }
}
