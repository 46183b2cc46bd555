//! Tests of searches against a model: a plain scan over the documents, which shares the analyser.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::settings;
use crate::analysis::{
    AnalysedWord, CleanText, analyse, compound_entry, fold_value, min_rest_chars, part_borders, part_forms, rest_forms,
};
use crate::document::{Category, DocumentFilter, FilterFields};
use crate::index::*;
use crate::query::{DateCondition, FieldScope, LeafCondition, QueryOptions, SearchQuery, WordCondition};

/// Words that share forms, stems, and parts of compounds.
const WORDS: &[&str] = &[
    "Haus",
    "Häuser",
    "haus",
    "Gartenhaus",
    "Garten",
    "Gärten",
    "Mueller",
    "Müller",
    "Muller",
    "E-Mail",
    "Email",
    "E-Mails",
    "mail",
    "running",
    "run",
    "runs",
    "Minister",
    "Finanzminister",
    "Finanzen",
    "Bundesfinanzminister",
    "Bund",
    "東京",
    "東",
    "京都",
    "l'homme",
    "hommes",
    "3.14",
    "G7",
    "Tor",
    "Motor",
    "Burgtor",
    "Burg",
];

const KINDS: &[&str] = &["story", "picture", "Secret", ""];

/// Admits visible documents that are not secret, and those of an owner.
struct ModelFilter;

impl DocumentFilter for ModelFilter {
    fn admits(&self, document: &FilterFields<'_>) -> bool {
        (document.is_visible() && document.kind() != "Secret" && document.place() != 3) || document.has_owner("anna")
    }
}

fn is_admitted(document: &IndexDocument) -> bool {
    (document.visible && document.kind != "Secret" && document.place != 3)
        || document.owners.iter().any(|owner| owner == "anna")
}

/// The documents by key, and what is looked up in them.
#[derive(Default)]
struct ModelIndex {
    documents: BTreeMap<u128, IndexDocument>,
}

fn words(text: &str) -> Vec<AnalysedWord> {
    analyse(&CleanText::new(text).text, 0, usize::MAX)
}

fn stem_language(document: &IndexDocument) -> Option<StemLanguage> {
    let language = StemLanguage::from_code(document.language.as_deref().unwrap_or("de"));
    match language {
        None => StemLanguage::from_code("de"),
        Some(language) => ["de", "en"].contains(&language.code).then_some(language),
    }
}

fn is_written(word: &AnalysedWord, wanted: &AnalysedWord, prefix: bool) -> bool {
    word.written()
        .any(|form| wanted.written().any(|other| if prefix { form.starts_with(other) } else { form == other }))
}

impl ModelIndex {
    /// Returns whether a stem occurs in a German document that is admitted.
    fn is_word(&self, stem: &str) -> bool {
        self.documents.values().filter(|document| is_admitted(document)).any(|document| {
            stem_language(document).filter(|language| language.code == "de").is_some_and(|language| {
                let texts = document.texts.iter().chain(&document.titles).chain([&document.name]);
                texts.flat_map(|text| words(text)).any(|word| language.stems(&word).iter().any(|other| other == stem))
            }) || {
                let texts = document.texts.iter().chain(&document.titles).chain([&document.name]);
                texts.flat_map(|text| words(text)).any(|word| word.written().any(|form| form == stem))
            }
        })
    }

    fn is_compound(&self, word: &AnalysedWord, wanted: &AnalysedWord) -> bool {
        let german = StemLanguage::from_code("de").unwrap();
        let (Some(entry), Some(min)) = (compound_entry(german, word), min_rest_chars(wanted)) else { return false };
        let letters: Vec<char> = entry.stem.chars().collect();
        let known = |from: usize, to: usize, in_front: bool, min: usize| {
            let text: String = letters[from..to].iter().collect();
            rest_forms(german, &text, in_front, min).iter().any(|form| self.is_word(form))
        };
        part_forms(german, wanted).iter().flat_map(|part| part_borders(&entry, part)).any(|border| {
            let (from, to) = (border.rest.start, border.rest.end);
            known(from, to, from == 0, min)
                || entry
                    .borders
                    .iter()
                    .filter(|inner| (from..to).contains(*inner))
                    .any(|inner| known(from, *inner, true, 4) && known(*inner, to, from == 0, 4))
        })
    }

    /// Returns the points of a condition in the texts of one place.
    fn place_points(
        &self,
        condition: &WordCondition,
        texts: &[&str],
        language: Option<StemLanguage>,
        points: [u32; 4],
        wanted: bool,
    ) -> Option<u32> {
        let mut best = None;
        let small = matches!(condition.scope, FieldScope::Small(_));
        for text in texts {
            let words = words(text);
            let singles: Vec<&AnalysedWord> = match &condition.words[..] {
                [word] => vec![word],
                _ => Vec::new(),
            };
            for one in singles.iter().copied().chain(&condition.whole) {
                for word in &words {
                    let mut add = |points: u32| best = best.max(Some(points));
                    if is_written(word, one, false) {
                        add(points[0]);
                    }
                    if condition.prefix && is_written(word, one, true) {
                        add(points[2]);
                    }
                    let stems = ["de", "en"].map(|code| StemLanguage::from_code(code).unwrap().stems(one)).concat();
                    if !small && !condition.quoted && word.written().any(|form| stems.iter().any(|stem| stem == form)) {
                        add(points[1]);
                    }
                    if let Some(language) = language.filter(|_| !condition.quoted) {
                        if language.stems(word).iter().any(|stem| language.stems(one).contains(stem)) {
                            add(points[1]);
                        }
                        if wanted && language.code == "de" && self.is_compound(word, one) {
                            add(points[3]);
                        }
                    }
                }
            }
            if singles.is_empty() {
                let parts: Vec<&AnalysedWord> = words.iter().filter(|word| !word.whole).collect();
                let forms = |position: u32| words.iter().filter(move |word| word.position == position);
                let count = condition.words.len();
                let first = condition.words[0].position;
                let found = parts.iter().any(|start| {
                    condition.words.iter().enumerate().all(|(number, one)| {
                        let prefix = condition.prefix && number + 1 == count;
                        forms(start.position + one.position - first).any(|word| is_written(word, one, prefix))
                    })
                });
                if found {
                    best = best.max(Some(points[0] * count as u32));
                }
            }
        }
        best
    }

    fn word_points(&self, condition: &WordCondition, document: &IndexDocument, wanted: bool) -> Option<u32> {
        let (head, body) = ([100, 80, 60, 50], [40, 30, 20, 10]);
        let language = stem_language(document);
        let titles: Vec<&str> = document.titles.iter().map(String::as_str).collect();
        let texts: Vec<&str> = document.texts.iter().map(String::as_str).collect();
        let name = self.place_points(condition, &[&document.name], language, head, wanted);
        let title = self.place_points(condition, &titles, language, head, wanted);
        let text = self.place_points(condition, &texts, language, body, wanted);
        match &condition.scope {
            FieldScope::Any => name.max(title).max(text),
            FieldScope::Name => name,
            FieldScope::Title => title,
            FieldScope::Text => text,
            FieldScope::Small(wanted) => {
                let fields = document.fields.iter().map(|(name, text)| (name.as_str(), text.as_str()));
                let categories = document.category_values().map(|(category, value)| (category.name(), value));
                let texts: Vec<&str> = fields
                    .chain(categories)
                    .filter(|(name, _)| fold_value(name) == *wanted)
                    .map(|(_, text)| text)
                    .collect();
                self.place_points(condition, &texts, None, body, false)
            }
        }
    }

    /// Returns the points of a document, if it matches.
    fn points(&self, query: &SearchQuery, document: &IndexDocument) -> Option<u32> {
        let mut sum = 0;
        for clause in &query.clauses {
            let mut best = None;
            for leaf in &clause.alternatives {
                let points = match &leaf.condition {
                    LeafCondition::Dates(dates) => is_in_dates(*dates, document).then_some(0),
                    LeafCondition::Words(words) => self.word_points(words, document, !leaf.negated),
                };
                let points = if leaf.negated { points.is_none().then_some(0) } else { points };
                best = best.max(points);
            }
            sum += best?;
        }
        Some(sum)
    }

    fn search(&self, request: &SearchRequest<'_>) -> FoundDocuments {
        let mut found: Vec<(&IndexDocument, u32)> = self
            .documents
            .values()
            .filter(|document| is_admitted(document))
            .filter(|document| request.modified_from_ms.is_none_or(|from| document.modified_ms >= from))
            .filter(|document| request.modified_to_ms.is_none_or(|to| document.modified_ms < to))
            .filter(|document| {
                request.include.iter().all(|(category, values)| {
                    document.category_values().any(|(other, value)| {
                        other == *category && values.iter().any(|one| fold_value(one) == fold_value(value))
                    })
                })
            })
            .filter_map(|document| Some((document, self.points(request.query, document)?)))
            .collect();
        let ascending = request.ascending.unwrap_or(request.sort == SortOrder::Name);
        found.sort_by(|(one, one_points), (other, other_points)| {
            let order = match request.sort {
                SortOrder::Relevance => one_points.cmp(other_points),
                SortOrder::Modified => one.modified_ms.cmp(&other.modified_ms),
                SortOrder::Created => one.created_ms.cmp(&other.created_ms),
                SortOrder::Name => fold_value(&one.name).cmp(&fold_value(&other.name)),
            };
            let order = if ascending { order } else { order.reverse() };
            order.then((other.modified_ms, other.key).cmp(&(one.modified_ms, one.key)))
        });
        let facets = request.facets.iter().map(|category| {
            let mut counts: BTreeMap<String, u64> = BTreeMap::new();
            for (document, _) in &found {
                for (_, value) in document.category_values().filter(|(other, _)| other == category) {
                    *counts.entry(value.to_owned()).or_default() += 1;
                }
            }
            let mut counts: Vec<(String, u64)> = counts.into_iter().collect();
            counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
            (*category, counts)
        });
        let keys = found.iter().skip(request.offset).take(request.limit).map(|(document, _)| document.key).collect();
        FoundDocuments { total: found.len() as u64, keys, facets: facets.collect() }
    }
}

fn is_in_dates(dates: DateCondition, document: &IndexDocument) -> bool {
    let time = if dates.created { document.created_ms } else { document.modified_ms };
    dates.from.is_none_or(|from| time >= from) && dates.to.is_none_or(|to| time < to)
}

/// A change of the index.
#[derive(Clone, Debug)]
enum IndexChange {
    Put(Box<IndexDocument>),
    Remove(u128),
    RemoveParts(u128),
    Commit,
}

fn text() -> impl Strategy<Value = String> {
    vec(select(WORDS), 0..6).prop_map(|words| words.join(" "))
}

fn any_document() -> impl Strategy<Value = IndexDocument> {
    let identity = (
        0..12_u128,
        0..4_u128,
        proptest::option::of(20..23_u128),
        any::<bool>(),
        vec(select(&["anna", "ben"][..]), 0..2),
    );
    let categories =
        (select(KINDS), proptest::option::of(select(&["Draft", "final"][..])), select(&["Anna May", "Ben"][..]));
    let times = (0..5_i64, 0..4_i64);
    let language = select(&[None, Some("de-AT"), Some("en"), Some("fr"), Some("xx")][..]);
    let texts = (text(), vec(text(), 0..2), vec(text(), 0..3), vec((select(&["Ressort", "ort"][..]), text()), 0..2));
    (identity, categories, times, language, texts).prop_map(|(identity, categories, times, language, texts)| {
        let day = 86_400_000;
        IndexDocument {
            key: identity.0,
            place: identity.1,
            container: identity.2,
            revision: 3,
            visible: identity.3,
            owners: identity.4.into_iter().map(str::to_owned).collect(),
            kind: categories.0.to_owned(),
            family: String::new(),
            type_name: "Article".to_owned(),
            status: categories.1.map(str::to_owned),
            author: categories.2.to_owned(),
            created_ms: times.0 * day,
            modified_ms: times.1 * day,
            language: language.map(str::to_owned),
            name: texts.0,
            titles: texts.1,
            texts: texts.2,
            fields: texts.3.into_iter().map(|(name, text)| (name.to_owned(), text)).collect(),
        }
    })
}

fn any_change() -> impl Strategy<Value = IndexChange> {
    prop_oneof![
        8 => any_document().prop_map(|document| IndexChange::Put(Box::new(document))),
        1 => (0..12_u128).prop_map(IndexChange::Remove),
        1 => (20..23_u128).prop_map(IndexChange::RemoveParts),
        2 => Just(IndexChange::Commit),
    ]
}

fn term() -> impl Strategy<Value = String> {
    let field = select(&["", "", "", "title:", "name:", "text:", "ressort:", "author:", "status:"][..]);
    let words = prop_oneof![
        4 => select(WORDS).prop_map(str::to_owned),
        1 => vec(select(WORDS), 1..3).prop_map(|words| format!("\"{}\"", words.join(" "))),
        1 => (select(WORDS), 1..4_usize).prop_map(|(word, count)| word.chars().take(count).collect::<String>() + "*"),
        1 => select(&["anna", "\"anna may\"", "draft"][..]).prop_map(str::to_owned),
    ];
    prop_oneof![
        8 => (field, words).prop_map(|(field, words)| format!("{field}{words}")),
        1 => select(&["created:1970-01-02", "modified:1970-01-02..", "modified:..1970-01-02"][..]).prop_map(str::to_owned),
    ]
}

fn any_query() -> impl Strategy<Value = String> {
    let piece = (term(), select(&["", "", "", "-"][..]), select(&[" ", " ", " OR "][..]))
        .prop_map(|(term, sign, separator)| format!("{sign}{term}{separator}"));
    vec(piece, 0..4).prop_map(|pieces| pieces.concat().trim_end().to_owned())
}

/// A search without the query's text.
#[derive(Clone, Debug)]
struct SearchChoices {
    query: String,
    as_you_type: bool,
    include: Vec<(Category, Vec<String>)>,
    times: (Option<i64>, Option<i64>),
    sort: SortOrder,
    ascending: Option<bool>,
    offset: usize,
    limit: usize,
}

fn any_search() -> impl Strategy<Value = SearchChoices> {
    let sorts = select(&[SortOrder::Relevance, SortOrder::Modified, SortOrder::Created, SortOrder::Name][..]);
    let include = vec(
        select(&[(Category::Kind, "STORY"), (Category::Status, "draft"), (Category::Author, "anna may")][..]),
        0..2,
    );
    let day = 86_400_000;
    let times = (proptest::option::of(0..3_i64), proptest::option::of(1..4_i64));
    (any_query(), any::<bool>(), include, times, sorts, any::<Option<bool>>(), 0..3_usize, 0..8_usize).prop_map(
        move |(query, as_you_type, include, times, sort, ascending, offset, limit)| SearchChoices {
            query,
            as_you_type,
            include: include
                .into_iter()
                .map(|(category, value)| (category, vec![value.to_owned(), "x".to_owned()]))
                .collect(),
            times: (times.0.map(|time| time * day), times.1.map(|time| time * day)),
            sort,
            ascending,
            offset,
            limit,
        },
    )
}

fn compare(index: &TextIndex, model: &ModelIndex, choices: &SearchChoices) -> std::result::Result<(), TestCaseError> {
    let options = QueryOptions { as_you_type: choices.as_you_type, ..QueryOptions::default() };
    let query = SearchQuery::parse(&choices.query, options).unwrap();
    let mut request = SearchRequest::new(&query, &ModelFilter);
    request.include.clone_from(&choices.include);
    (request.modified_from_ms, request.modified_to_ms) = choices.times;
    request.sort = choices.sort;
    request.ascending = choices.ascending;
    request.facets = Category::ALL.to_vec();
    request.offset = choices.offset;
    request.limit = choices.limit;
    prop_assert_eq!(index.search(&request).unwrap(), model.search(&request), "{:?}", choices);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn searches_find_what_a_scan_finds(
        changes in vec(any_change(), 1..40),
        searches in vec(any_search(), 12),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let index = TextIndex::open(&dir.path().join("index"), &settings(&["de", "en"])).unwrap().0;
        let mut model = ModelIndex::default();
        let mut commits = 0;
        for change in changes.into_iter().chain([IndexChange::Commit]) {
            match change {
                IndexChange::Put(document) => {
                    index.put((*document).clone()).unwrap();
                    model.documents.insert(document.key, *document);
                }
                IndexChange::Remove(key) => {
                    index.remove(key);
                    model.documents.remove(&key);
                }
                IndexChange::RemoveParts(container) => {
                    index.remove_parts(container);
                    model.documents.retain(|_, document| document.container != Some(container));
                }
                IndexChange::Commit => {
                    commits += 1;
                    index.commit(commits).unwrap();
                    let search = &searches[commits as usize % searches.len()];
                    compare(&index, &model, search)?;
                }
            }
        }
        for search in &searches {
            compare(&index, &model, search)?;
        }
        let keys: Vec<(u128, u64)> = model.documents.keys().map(|key| (*key, 3)).collect();
        prop_assert_eq!(index.keys_after(None, 100).unwrap(), keys);
        let is_part = |document: &&IndexDocument| document.container == Some(20);
        let parts: BTreeSet<u128> =
            model.documents.values().filter(is_part).map(|document| document.key).collect();
        let found: Vec<u128> = index.parts_of(20).unwrap().into_iter().map(|(key, _)| key).collect();
        prop_assert_eq!(found, parts.into_iter().collect::<Vec<_>>());
        prop_assert_eq!(index.documents(), model.documents.len() as u64);
    }
}
