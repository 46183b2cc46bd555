//! What a caller's grants add up to (docs/api/rights.md, "Privileges").

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use stet_actors::id::Loid;

use super::privilege::Privilege;
use super::rows::Grant;

/// A set of privileges.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Privileges(u16);

impl Privileges {
    /// Whether it is in the set.
    pub fn contains(self, privilege: Privilege) -> bool {
        self.0 & Privileges::from(privilege).0 != 0
    }

    /// Those of both.
    #[must_use]
    pub fn and(self, others: Privileges) -> Privileges {
        Privileges(self.0 | others.0)
    }

    /// One by one, in the order of [`Privilege::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Privilege> {
        Privilege::ALL.into_iter().filter(move |privilege| self.contains(*privilege))
    }
}

impl From<Privilege> for Privileges {
    fn from(privilege: Privilege) -> Privileges {
        Privileges(1 << privilege as u16)
    }
}

impl fmt::Debug for Privileges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

/// The privileges of a user or key: those that hold everywhere, and those below single folders.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Rights {
    everywhere: Privileges,
    anywhere: Privileges,
    below: Vec<(Loid, Privileges)>,
}

impl Rights {
    /// The sum of grants. `folder` finds the folder that a grant names; one that is not there grants nothing.
    ///
    /// # Errors
    /// What `folder` says.
    pub fn sum<'g, E>(
        grants: impl IntoIterator<Item = &'g Grant>,
        folder: impl Fn(&str) -> Result<Option<Loid>, E>,
    ) -> Result<Rights, E> {
        let (mut rights, mut places) = (Rights::default(), HashMap::new());
        for grant in grants {
            let privilege = Privileges::from(grant.privilege);
            match &grant.folder {
                None => rights.everywhere = rights.everywhere.and(privilege),
                Some(source) => {
                    let Some(folder) = folder(source)? else { continue };
                    let place = *places.entry(folder).or_insert(rights.below.len());
                    match rights.below.get_mut(place) {
                        Some((_, privileges)) => *privileges = privileges.and(privilege),
                        None => rights.below.push((folder, privilege)),
                    }
                }
            }
            rights.anywhere = rights.anywhere.and(privilege);
        }
        Ok(rights)
    }

    /// A fingerprint of these rights, by which they are compared with others.
    pub fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// What is allowed for all objects, and for calls that concern no object.
    pub fn everywhere(&self) -> Privileges {
        self.everywhere
    }

    /// What is allowed for some object at least.
    pub fn anywhere(&self) -> Privileges {
        self.anywhere
    }

    /// What is allowed below single folders, themselves included.
    pub fn below(&self) -> &[(Loid, Privileges)] {
        &self.below
    }
}

#[cfg(test)]
mod tests {
    use stet_actors::id::DatabaseId;

    use super::*;

    #[test]
    fn grants_add_up_and_those_of_missing_folders_grant_nothing() {
        let loid = |number| Loid::new(DatabaseId::FIRST, number);
        let grant = |privilege, folder: Option<&str>| Grant { privilege, folder: folder.map(str::to_owned) };
        let grants = [
            grant(Privilege::Read, None),
            grant(Privilege::Write, Some("/a")),
            grant(Privilege::Create, Some("/a")),
            grant(Privilege::Delete, Some("/b")),
            grant(Privilege::Destroy, Some("/gone")),
        ];
        let folder = |path: &str| {
            Ok::<_, ()>(match path {
                "/a" => Some(loid(1)),
                "/b" => Some(loid(2)),
                _ => None,
            })
        };
        let rights = Rights::sum(&grants, folder).unwrap();
        assert_eq!(rights.everywhere().iter().collect::<Vec<_>>(), [Privilege::Read]);
        let both = Privileges::from(Privilege::Write).and(Privilege::Create.into());
        assert_eq!(rights.below(), [(loid(1), both), (loid(2), Privilege::Delete.into())]);
        assert!(rights.anywhere().contains(Privilege::Delete));
        assert!(!rights.anywhere().contains(Privilege::Destroy));
        assert_eq!(Rights::sum(&grants, |_| Err(())), Err(()));
    }

    #[test]
    fn every_privilege_has_a_place_of_its_own() {
        for one in Privilege::ALL {
            let alone = Privileges::from(one);
            assert_eq!(alone.iter().collect::<Vec<_>>(), [one]);
        }
    }
}
