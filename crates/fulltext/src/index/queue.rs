//! A bound for the memory of documents that wait for the writer's thread.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use tantivy::TantivyDocument;
use tantivy::schema::Document;

/// The most bytes of the texts of documents that wait, except for a single larger one. In the queue
/// they take some twice that: the written forms and the stems.
const MAX_QUEUED_BYTES: usize = 2 << 20;

/// The number of bytes of documents that wait.
#[derive(Debug, Default)]
pub(super) struct DocumentQueue {
    bytes: Mutex<usize>,
    freed: Condvar,
}

impl DocumentQueue {
    /// Waits until there is room for a document, and takes it.
    pub fn enter(self: &Arc<Self>, bytes: usize) -> QueuePermit {
        let mut queued = self.bytes.lock();
        while *queued > 0 && queued.saturating_add(bytes) > MAX_QUEUED_BYTES {
            self.freed.wait(&mut queued);
        }
        *queued += bytes;
        QueuePermit { queue: Arc::clone(self), bytes }
    }
}

/// The room that a document takes in the queue.
#[derive(Debug)]
pub(super) struct QueuePermit {
    queue: Arc<DocumentQueue>,
    bytes: usize,
}

impl Drop for QueuePermit {
    fn drop(&mut self) {
        *self.queue.bytes.lock() -= self.bytes;
        self.queue.freed.notify_all();
    }
}

/// A document that waits for the writer's thread.
///
/// The box keeps it small, because each commit of the writer allocates 40,000 places for documents.
/// The permit is released when the writer has taken the document over.
pub(super) struct QueuedDocument(pub Box<(TantivyDocument, QueuePermit)>);

impl Document for QueuedDocument {
    type Value<'a> = <TantivyDocument as Document>::Value<'a>;
    type FieldsValuesIter<'a> = <TantivyDocument as Document>::FieldsValuesIter<'a>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        Document::iter_fields_and_values(&self.0.0)
    }
}
