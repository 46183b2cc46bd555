//! The time from the reply to a change until a search finds it.

use std::time::{Duration, Instant};

use stet_testkit::{Dice, Server, encoded};

use crate::changes::{ChangeMix, beside, headline_request, title_request};
use crate::corpus::Corpus;
use crate::figures::FigureTable;
use crate::options::BenchOptions;
use crate::wire::{CallSamples, UserSession, WireConnection, run};

/// The number of clients that wait for their own changes.
const CLIENTS: usize = 3;
/// The pause between two searches of such a client: the resolution of the figures.
const PAUSE: Duration = Duration::from_millis(10);
/// The time after which a client gives up on its change.
const PATIENCE: Duration = Duration::from_secs(60);
/// The targets in milliseconds.
const TARGET: f64 = 1000.0;

/// Measures the delay while no other changes are made, and while many are.
pub fn measure(options: &BenchOptions, corpus: &Corpus, server: &Server, table: &mut FigureTable) {
    let alone = probe(options, corpus, server);
    table.times("until a change is found, alone, ms", &alone.all(), [None, Some(TARGET)]);
    let mix = ChangeMix::of(corpus, server);
    let (busy, changes) = beside(mix, options.rate, || probe(options, corpus, server));
    table.times("until a change is found, beside changes, ms", &busy.all(), [None, Some(TARGET)]);
    table.rate("changes/s meanwhile", &[changes.rate()], None);
    table.count("changes not found in a minute", alone.failures + busy.failures);
}

fn probe(options: &BenchOptions, corpus: &Corpus, server: &Server) -> CallSamples {
    let sessions = UserSession::all(server);
    let end = Instant::now() + options.length;
    run(async {
        let tasks: Vec<_> = (0..CLIENTS)
            .map(|client| tokio::spawn(probe_alone(corpus.clone(), sessions[client % 2].clone(), client, end)))
            .collect();
        let mut all = CallSamples::default();
        for task in tasks {
            all.merge(task.await.expect("a client runs to its end"));
        }
        all
    })
}

/// Returns a word of consonants that stand for numbers, so that no two words have one stem.
fn unique_word(numbers: &[usize]) -> String {
    let digits = numbers.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
    let letter = |digit: char| digit.to_digit(10).map_or(digit, |digit| char::from(b"bcdfghjklm"[digit as usize]));
    format!("probe{}kwk", digits.chars().map(letter).collect::<String>())
}

/// Changes one text after the other, each when the change before was found.
async fn probe_alone(corpus: Corpus, session: UserSession, client: usize, end: Instant) -> CallSamples {
    let mut connection = WireConnection::open(&session.address).await;
    let since_epoch = std::time::SystemTime::UNIX_EPOCH.elapsed().expect("it is after 1970");
    let mut dice = Dice::of(&[5, client as u64, since_epoch.as_nanos() as u64]);
    let mut samples = CallSamples::default();
    for number in 0.. {
        if Instant::now() >= end {
            break;
        }
        let word = unique_word(&[since_epoch.as_millis() as usize, client, number]);
        let change = if number % 2 == 0 {
            headline_request(&session, dice.roll(corpus.objects), &word)
        } else {
            title_request(&session, dice.roll(corpus.posts), &word)
        };
        connection.call_patiently(&change).await;
        let replied = Instant::now();
        let search = session.request("GET", &format!("/v3/search?query={}&limit=1&highlight=false", encoded(&word)));
        let mut is_found = false;
        while !is_found && replied.elapsed() < PATIENCE {
            connection.call_patiently(&search).await;
            is_found = !connection.body().contains("\"total\":0");
            if !is_found {
                tokio::time::sleep(PAUSE).await;
            }
        }
        samples.add(0, replied.elapsed(), if is_found { 200 } else { 0 });
    }
    samples
}
