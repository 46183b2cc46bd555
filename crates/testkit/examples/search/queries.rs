//! The searches of the benchmark, from the words of its texts.

use stet_testkit::{Dice, encoded};

use crate::corpus::{Corpus, FOLDER};
use crate::wire::{ClassedRequests, UserSession};

/// The number of searches of each class that a client sends in turn.
const VARIANTS: usize = 60;

/// The classes of searches.
pub const CLASSES: [&str; 7] =
    ["one word", "two words", "three words", "a phrase", "two words and filters", "a word and facets", "as you type"];

/// The class of searches as one types.
pub const AS_YOU_TYPE: usize = 6;

/// Returns the searches of a client; the words are those of headlines, as people remember them.
pub fn queries(corpus: &Corpus, session: &UserSession, client: usize, classes: &[usize]) -> ClassedRequests {
    let mut dice = Dice::of(&[3, client as u64]);
    let mut requests = Vec::new();
    for _ in 0..VARIANTS {
        for class in classes {
            let query = query(corpus, *class, &mut dice);
            requests.push((*class, session.request("GET", &format!("/v3/search?{query}"))));
        }
    }
    requests
}

/// Returns the parameters of a search of a class.
fn query(corpus: &Corpus, class: usize, dice: &mut Dice) -> String {
    let is_post = dice.roll(2) == 0;
    let article = if is_post { corpus.post(dice.roll(corpus.posts)) } else { corpus.story(dice.roll(corpus.objects)) };
    let words = &article.keywords;
    let first = dice.roll(words.len());
    let several = |count: usize| -> String {
        let chosen: Vec<&str> = words.iter().cycle().skip(first).take(count).map(String::as_str).collect();
        format!("query={}", encoded(&chosen.join(" ")))
    };
    match class {
        0 => several(1),
        1 => several(2),
        2 => several(3),
        3 => {
            let phrase: Vec<&str> = article.paragraphs[0].split(' ').skip(1).take(2 + dice.roll(2)).collect();
            format!("query={}", encoded(&format!("\"{}\"", phrase.join(" "))))
        }
        4 => format!("{}&{}", several(2), filters(dice)),
        5 => format!("{}&facets=kind,family,type,status,author", several(1)),
        _ => {
            let word = &words[first];
            let letters = 3 + dice.roll(word.chars().count().saturating_sub(2).max(1));
            let typed: String = word.chars().take(letters).collect();
            format!("query={}&asYouType=true&limit=10", encoded(&typed))
        }
    }
}

/// Returns filters as they are used together.
fn filters(dice: &mut Dice) -> String {
    match dice.roll(4) {
        0 => "kinds=post&author=editor".to_owned(),
        1 => "types=Story&sort=modified".to_owned(),
        2 => format!("folder={}&kinds=object", encoded(FOLDER)),
        _ => "author=editor,admin&from=1700000000000&families=document".to_owned(),
    }
}
