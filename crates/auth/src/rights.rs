//! The sum of a caller's grants (docs/api/rights.md, "Privileges").

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

use stet_domain::id::Loid;

use super::privilege::Privilege;
use super::rows::Grant;

/// A set of privileges.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Privileges(u16);

impl Privileges {
    /// Reports whether a privilege is in the set.
    pub fn contains(self, privilege: Privilege) -> bool {
        self.0 & Privileges::from(privilege).0 != 0
    }

    /// Returns the union of two sets.
    #[must_use]
    pub fn and(self, others: Privileges) -> Privileges {
        Privileges(self.0 | others.0)
    }

    /// Returns the privileges one by one, in the order of [`Privilege::ALL`].
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
#[derive(Debug, Clone, Default)]
pub struct Rights {
    everywhere: Privileges,
    anywhere: Privileges,
    /// Sorted by loid.
    below: Vec<(Loid, Privileges)>,
    identity: u64,
}

impl PartialEq for Rights {
    fn eq(&self, other: &Rights) -> bool {
        (self.everywhere, self.anywhere, &self.below) == (other.everywhere, other.anywhere, &other.below)
    }
}

impl Eq for Rights {}

impl Hash for Rights {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.everywhere, self.anywhere, &self.below).hash(state);
    }
}

impl Rights {
    /// Returns the sum of grants. `folder` finds the folder that a grant names; a missing one
    /// grants nothing.
    ///
    /// # Errors
    /// Errors of `folder`.
    pub fn sum<'g, E>(
        grants: impl IntoIterator<Item = &'g Grant>,
        folder: impl Fn(&str) -> Result<Option<Loid>, E>,
    ) -> Result<Rights, E> {
        static SUMS: AtomicU64 = AtomicU64::new(1);
        let identity = SUMS.fetch_add(1, Ordering::Relaxed);
        let (mut rights, mut below) = (Rights { identity, ..Rights::default() }, BTreeMap::new());
        for grant in grants {
            let privilege = Privileges::from(grant.privilege);
            match &grant.folder {
                None => rights.everywhere = rights.everywhere.and(privilege),
                Some(source) => {
                    let Some(folder) = folder(source)? else { continue };
                    let privileges: &mut Privileges = below.entry(folder).or_default();
                    *privileges = privileges.and(privilege);
                }
            }
            rights.anywhere = rights.anywhere.and(privilege);
        }
        rights.below = below.into_iter().collect();
        Ok(rights)
    }

    /// Returns a fingerprint of these rights, for comparison with others.
    pub fn digest(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// Returns the privileges for all objects, and for calls that concern no object.
    pub fn everywhere(&self) -> Privileges {
        self.everywhere
    }

    /// Returns the privileges that hold for at least one object.
    pub fn anywhere(&self) -> Privileges {
        self.anywhere
    }

    /// Returns the privileges below a folder, itself included, by grants for that folder alone.
    pub fn at(&self, folder: Loid) -> Privileges {
        let place = self.below.binary_search_by_key(&folder, |(folder, _)| *folder);
        place.map_or(Privileges::default(), |place| self.below[place].1)
    }

    /// Returns the number of this sum. It is unique, except that copies share it; 0 stands for no
    /// rights.
    pub fn identity(&self) -> u64 {
        self.identity
    }

    /// Returns the privileges below single folders, themselves included, sorted by loid.
    pub fn below(&self) -> &[(Loid, Privileges)] {
        &self.below
    }
}

#[cfg(test)]
mod tests {
    use stet_domain::id::DatabaseId;

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
        assert_eq!((rights.at(loid(1)), rights.at(loid(3))), (both, Privileges::default()));
        assert!(rights.anywhere().contains(Privilege::Delete));
        assert!(!rights.anywhere().contains(Privilege::Destroy));
        assert_eq!(Rights::sum(&grants, |_| Err(())), Err(()));
    }

    #[test]
    fn every_privilege_has_a_place_of_its_own() {
        for one in Privilege::ALL {
            let alone = Privileges::from(one);
            assert_eq!(alone.iter().collect::<Vec<_>>(), [one]);
            assert_eq!(format!("{alone:?}"), format!("{{{one:?}}}"));
        }
    }
}
