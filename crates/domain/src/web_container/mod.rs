//! Web containers, and page containers, which are similar: documents whose content and links name
//! stories (docs/api/bundles.md, "Web containers").

use crate::family::plain_family;

plain_family! {
    /// The family of web containers.
    WebContainer, has_content: true
}
