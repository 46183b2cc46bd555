//! Parts of containers: their kinds, how they are read, and what they may have in common with
//! objects.

mod kind;
mod own;
mod read;

pub use self::kind::{Derived, PartKind};
pub use self::own::{
    ATTACHMENT_BODY, Attachment, MAX_ATTACHMENTS, NewAttachment, Owner, attach, attachment_body, detach, erase,
    erase_plain, refer_all, set_attributes, write_content,
};
pub use self::read::Parts;
