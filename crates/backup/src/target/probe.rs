//! A test of everything that a backup does with a target.

use std::fmt;

use bytes::Bytes;
use uuid::Uuid;

use super::transfer::PART;
use super::{BackupTarget, TargetPlace, blocking, path_of};
use crate::{BackupError, BackupResult, Sha256Hash};

/// The result of one part of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProbeStep {
    /// The name of what was tried.
    pub name: &'static str,
    /// The outcome.
    pub outcome: ProbeOutcome,
}

/// The outcome of one part of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProbeOutcome {
    /// Success.
    Works,
    /// The lack of something that a backup can do without, and the price of that.
    Missing(&'static str),
    /// The failure of something that a backup needs.
    Failed(BackupError),
}

impl fmt::Display for ProbeOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProbeOutcome::Works => f.write_str("ok"),
            ProbeOutcome::Missing(price) => write!(f, "missing: {price}"),
            ProbeOutcome::Failed(error) => error.fmt(f),
        }
    }
}

impl BackupTarget {
    /// Tries everything that a backup does with a target, in a folder of its own, and removes that.
    pub async fn probe(&self) -> Vec<ProbeStep> {
        let probe = TargetProbe { target: self, folder: format!("stet-probe-{}", Uuid::new_v4().simple()) };
        let works = |outcome: BackupResult<()>| outcome.map_or_else(ProbeOutcome::Failed, |()| ProbeOutcome::Works);
        let mut steps = vec![
            ("put", works(probe.put().await)),
            ("get", works(probe.get().await)),
            ("list", works(probe.list().await)),
            ("list after a name", works(probe.list_after().await)),
            ("range", works(probe.range().await)),
            ("multipart upload", works(probe.multipart().await)),
            ("conditional put", probe.put_new().await.unwrap_or_else(ProbeOutcome::Failed)),
        ];
        steps.push(("delete", works(probe.delete().await)));
        steps.into_iter().map(|(name, outcome)| ProbeStep { name, outcome }).collect()
    }
}

/// The objects of a probe: `a` and `b` are small, `c` is written in parts, `d` on a condition.
struct TargetProbe<'a> {
    target: &'a BackupTarget,
    folder: String,
}

impl TargetProbe<'_> {
    fn name(&self, of: &str) -> String {
        format!("{}/{of}", self.folder)
    }

    async fn put(&self) -> BackupResult<()> {
        self.target.put(&self.name("a"), Bytes::from("first")).await?;
        self.target.put(&self.name("b"), Bytes::from("second")).await?;
        self.target.put(&self.name("a"), Bytes::from("replaced")).await
    }

    async fn get(&self) -> BackupResult<()> {
        let there = self.target.get(&self.name("a")).await?;
        expect(there.as_deref() == Some(b"replaced"), &self.name("a"), "it is not what was written last")?;
        let missing = self.target.get(&self.name("missing")).await?;
        expect(
            missing.is_none() && !self.target.exists(&self.name("missing")).await?,
            &self.name("missing"),
            "it exists",
        )
    }

    async fn list(&self) -> BackupResult<()> {
        let listed = self.target.list(&self.folder).await?;
        let wanted = [(self.name("a"), 8), (self.name("b"), 6)];
        expect(listed == wanted, &self.folder, "the list of its objects is another one")
    }

    async fn list_after(&self) -> BackupResult<()> {
        let listed = self.target.list_after(&self.folder, &self.name("a")).await?;
        expect(listed == [(self.name("b"), 6)], &self.folder, "the list of the objects after `a` is another one")
    }

    async fn range(&self) -> BackupResult<()> {
        let name = self.name("a");
        let part = self.target.get_part(&name, &path_of(&name)?, 2..4, None).await?;
        expect(part == b"pl"[..], &name, "a part of it is another one")
    }

    async fn multipart(&self) -> BackupResult<()> {
        let failed = |error| BackupError::LocalFile(format!("A temporary file can't be written: {error}."));
        let scratch = tempfile::tempdir().map_err(failed)?;
        let (file, name) = (scratch.path().join("c"), self.name("c"));
        let bytes: Vec<u8> = (0..PART + 1).map(|at| (at ^ at >> 8 ^ at >> 16) as u8).collect();
        let hash = Sha256Hash::of(&bytes);
        std::fs::write(&file, bytes).map_err(failed)?;
        self.target.put_file(&name, &file, Some(&hash)).await?;
        self.target.get_to_file(&name, &file, Some(&hash)).await.map(drop)
    }

    async fn put_new(&self) -> BackupResult<ProbeOutcome> {
        let name = self.name("d");
        let first = self.target.put_new(&name, Bytes::from("first")).await?;
        let second = self.target.put_new(&name, Bytes::from("second")).await?;
        let there = self.target.get(&name).await?;
        let is_right = first && !second && there.as_deref() == Some(b"first");
        expect(is_right, &name, "it can be created although it exists")?;
        let TargetPlace::Bucket(bucket) = &self.target.place else { return Ok(ProbeOutcome::Works) };
        Ok(match bucket.keeps_conditions() {
            Some(false) => ProbeOutcome::Missing("two servers on one target are noticed late"),
            _ => ProbeOutcome::Works,
        })
    }

    async fn delete(&self) -> BackupResult<()> {
        for (name, _) in self.target.list(&self.folder).await? {
            self.target.delete(&name).await?;
        }
        expect(self.target.list(&self.folder).await?.is_empty(), &self.folder, "it has objects that were deleted")?;
        let TargetPlace::Folder(folder) = &self.target.place else { return Ok(()) };
        let (folder, name) = (folder.clone(), self.folder.clone());
        blocking(move || folder.remove_empty(&name)).await
    }
}

fn expect(is_right: bool, name: &str, fault: &str) -> BackupResult<()> {
    if is_right { Ok(()) } else { Err(BackupError::damaged(&name, fault)) }
}
