//! The families of containers by name, with what code outside of a family asks about it. A family's
//! own behaviour is its `Family` (`crates/domain/src/family.rs`).

use serde::{Deserialize, Serialize};

/// The family of containers that an object belongs to, which determines what its actor can do. It
/// is set at creation, from the object type. Rows contain the variant's name, which never changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FamilyKind {
    /// An object without parts of its own: a story, a picture.
    Document,
    /// A container of objects by name.
    Folder,
    /// A container of shortcuts to objects.
    Drawer,
    /// A container of posts.
    Liveblog,
    /// A container of topic items.
    Topic,
    /// A container of topics.
    TopicPlan,
    /// A container of a document for each channel.
    Bundle,
    /// A container that links stories to the web.
    WebContainer,
}

/// The answers of a family to the questions of [`FamilyKind`].
struct FamilyProfile {
    name: &'static str,
    is_plain: bool,
    holds_by_name: bool,
    is_named_by_title: bool,
}

impl FamilyProfile {
    /// Returns the profile of a container with endpoints of its own and a name like a file's.
    const fn new(name: &'static str) -> FamilyProfile {
        FamilyProfile { name, is_plain: false, holds_by_name: false, is_named_by_title: false }
    }
}

impl FamilyKind {
    /// All families.
    pub const ALL: [FamilyKind; 8] = [
        FamilyKind::Document,
        FamilyKind::Folder,
        FamilyKind::Drawer,
        FamilyKind::Liveblog,
        FamilyKind::Topic,
        FamilyKind::TopicPlan,
        FamilyKind::Bundle,
        FamilyKind::WebContainer,
    ];

    /// Reports whether the events of its containers have the rows before each change
    /// ([`crate::history`]).
    pub const fn keeps_past(self) -> bool {
        matches!(self, FamilyKind::Drawer)
    }

    /// The names of all families.
    pub const NAMES: [&'static str; FamilyKind::ALL.len()] = {
        let mut names = [""; FamilyKind::ALL.len()];
        let mut at = 0;
        while at < names.len() {
            names[at] = FamilyKind::ALL[at].name();
            at += 1;
        }
        names
    };

    const fn profile(self) -> FamilyProfile {
        let new = FamilyProfile::new;
        match self {
            FamilyKind::Document => FamilyProfile { is_plain: true, ..new("document") },
            FamilyKind::Folder => FamilyProfile { holds_by_name: true, ..new("folder") },
            FamilyKind::Drawer => new("drawer"),
            FamilyKind::Liveblog => new("liveblog"),
            FamilyKind::Topic => FamilyProfile { is_named_by_title: true, ..new("topic") },
            FamilyKind::TopicPlan => FamilyProfile { is_named_by_title: true, ..new("topicplan") },
            FamilyKind::Bundle => FamilyProfile { is_plain: true, holds_by_name: true, ..new("bundle") },
            FamilyKind::WebContainer => FamilyProfile { is_plain: true, ..new("webcontainer") },
        }
    }

    /// Returns the family's name in configuration, logs and metrics.
    pub const fn name(self) -> &'static str {
        self.profile().name
    }

    /// Reports whether the containers have nothing but their object. The general calls create and
    /// import them, and one may be written over another without a `type` in the call.
    pub const fn is_plain(self) -> bool {
        self.profile().is_plain
    }

    /// Reports whether other objects lie in the containers, by name.
    pub const fn holds_by_name(self) -> bool {
        self.profile().holds_by_name
    }

    /// Reports whether the names are titles, in which a `/` is allowed and becomes `_`.
    pub const fn is_named_by_title(self) -> bool {
        self.profile().is_named_by_title
    }
}
