//! Parts of containers: their kinds, reading them, and the data that they share with objects.

mod kind;
mod own;
mod read;

pub use self::kind::{PartKind, RowDerivation};
pub use self::own::{
    ATTACHMENT_BODY, MAX_ATTACHMENTS, NewAttachment, PartAttachment, PartOwner, attach, attachment_body, detach, erase,
    erase_plain, refer_all, set_attributes, write_content,
};
pub use self::read::PartReader;
