//! The time to build the index from nothing, while searches are answered.

use std::time::{Duration, Instant};

use stet_testkit::{Server, encoded};

use crate::corpus::Corpus;
use crate::figures::FigureTable;
use crate::scan::size_of;
use crate::servers::{INDEX_FOLDER, SearchServer, allocated, mapped};
use crate::wire::{CallSamples, UserSession, WireConnection, run};

/// The pause between two searches meanwhile.
const PAUSE: Duration = Duration::from_millis(50);
/// The time after which the index should be complete, with [`DOCUMENTS`] documents.
const TARGET: f64 = 60.0;
const DOCUMENTS: usize = 200_000;
/// The time after which the measurement gives up.
const PATIENCE: Duration = Duration::from_secs(1200);

/// Removes the index of a server that has ended, starts it, and waits for a complete one.
pub fn measure(server: SearchServer, corpus: &Corpus, table: &mut FigureTable) -> SearchServer {
    table.megabytes("the index after the changes", size_of(&server.data().join(INDEX_FOLDER)), None);
    let mut begun = Instant::now();
    let server = server.replaced(|mut server| {
        let _ = server.terminate();
        std::fs::remove_dir_all(server.data().join(INDEX_FOLDER)).expect("there is an index");
        begun = Instant::now();
        server.restart()
    });
    let before = allocated(&server);
    let (samples, first_reply, memory) = search_until_complete(&server, corpus, begun);
    let took = begun.elapsed().as_secs_f64();
    let target = TARGET * corpus.documents() as f64 / DOCUMENTS as f64;
    let documents = server.client().metric("stet_search_documents") as u64;
    table.seconds(&format!("from nothing, {documents} documents"), took, Some(target.max(1.0)));
    table.seconds("from the start to the first answered search", first_reply.as_secs_f64(), None);
    table.times("searches meanwhile, ms", &samples.all(), [None, None]);
    table.count("searches that failed", samples.failures);
    table.megabytes("memory at the beginning", before, None);
    table.megabytes("memory at most", memory[0], None);
    table.megabytes("mapped files at most", memory[1], None);
    table.megabytes("memory at the end", allocated(&server), None);
    server
}

/// Sends a search now and then until the index is complete. Returns the time of the first reply,
/// too, and the most bytes of memory and of mapped files.
fn search_until_complete(server: &Server, corpus: &Corpus, begun: Instant) -> (CallSamples, Duration, [u64; 2]) {
    let session = UserSession::of(server, "editor");
    run(async {
        let mut connection = WireConnection::open(&session.address).await;
        let (mut samples, mut first_reply, mut most) = (CallSamples::default(), None, [0, 0]);
        for number in 0.. {
            let words = corpus.story(number % corpus.objects).keywords;
            let search = session.request("GET", &format!("/v3/search?query={}", encoded(&words[0])));
            let sent = Instant::now();
            let status = connection.call(&search).await;
            if status == 200 {
                first_reply.get_or_insert_with(|| begun.elapsed());
            }
            samples.add(0, sent.elapsed(), status);
            most = [most[0].max(allocated(server)), most[1].max(mapped(server))];
            if connection.body().contains("\"complete\":true") {
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "the index does not become complete:\n{}", server.log());
            tokio::time::sleep(PAUSE).await;
        }
        (samples, first_reply.unwrap_or_default(), most)
    })
}
