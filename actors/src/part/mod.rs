//! Parts of containers: their kinds, reading them, and the data that they share with objects.

mod kind;
mod own;
mod read;

pub use self::kind::{Derived, PartKind};
pub use self::own::{
    ATTACHMENT_BODY, Attachment, MAX_ATTACHMENTS, NewAttachment, Owner, attach, attachment_body, detach, erase,
    erase_plain, refer_all, set_attributes, write_content,
};
pub use self::read::Parts;
