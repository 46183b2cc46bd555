//! Documents: objects without parts of their own, such as stories and pictures.

use crate::family::plain_family;

plain_family! {
    /// The family of documents.
    Document, has_content: true
}
