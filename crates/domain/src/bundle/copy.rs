//! Making channel copies.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::checkout::{lock_of, reuse_content};
use crate::command::{CommandFault, Context};
use crate::error::{Code, Error};
use crate::folder::{check_room, child};
use crate::id::Loid;
use crate::joint::{ContainerTurns, JointCommand};
use crate::lifecycle::{CreateOutcome, CreateResult};
use crate::object::{Attributes, ChannelCopy, FamilyKind, FolderKey, Object, Record, SharedText};
use crate::store::{ReadLevel, loid_key};
use crate::usage::{ObjectUse, TicketWriter, note_use};

/// Makes the copy of a bundle for a channel.
#[derive(Debug, Clone)]
pub struct CopyToChannel {
    /// The bundle.
    pub bundle: Loid,
    /// The name of the channel, and of the copy; valid as an object's name
    /// ([`crate::object::file_name`]).
    pub channel: SharedText,
    /// The channel to inherit from; without it the copy starts with the bundle's own text.
    pub inherit: Option<CopyInheritance>,
    /// The type of the copy.
    pub type_name: SharedText,
    /// The workflow status of the copy.
    pub status: Option<SharedText>,
    /// The lock time: seconds without use until the caller's lock of the copy ends. Without it the
    /// copy is not checked out.
    pub checked_out_s: Option<u64>,
    /// The writer of the note that the bundle is used for the channel.
    pub ticket: TicketWriter,
}

/// The source that a channel copy inherits from and follows.
#[derive(Debug, Clone)]
pub struct CopyInheritance {
    /// Name of the channel.
    pub channel: SharedText,
    /// Whether the bundle's own text stands for that channel if there is no copy for it.
    pub is_neutral: bool,
}

impl JointCommand for CopyToChannel {
    type Reply = CreateResult;
    const NAME: &'static str = "bundle.channelcopy";

    fn about(&self, _: &CreateResult) -> Option<Loid> {
        Some(self.bundle)
    }

    fn wants(&self) -> Vec<Loid> {
        vec![self.bundle]
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<CreateResult, CommandFault> {
        context.expects(&turns.any(self.bundle)?.record);
        let plan = self.plan(turns, context)?;
        turns.need(plan.from())?;
        match self.make(plan, turns, context)? {
            ChannelCopyOutcome::New(loid) => Ok(CreateResult { loid, outcome: CreateOutcome::New }),
            ChannelCopyOutcome::There(existing) => {
                let message = format!("The bundle already has a copy for the channel `{}`.", self.channel);
                Err(context.name_taken(message, existing))
            }
        }
    }
}

/// The result of a request for a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChannelCopyOutcome {
    /// A new copy.
    New(#[serde(with = "loid_key")] Loid),
    /// The copy that existed already.
    There(#[serde(with = "loid_key")] Loid),
}

/// The result of the copy of one of several bundles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopiedBundle {
    /// The bundle.
    #[serde(with = "loid_key")]
    pub bundle: Loid,
    /// The result for its channel copy.
    pub copied: ChannelCopyOutcome,
}

/// The maximal number of bundles copied at once. All copies are made in one step, and other calls
/// wait meanwhile.
pub const MAX_COPIES: usize = 200;

/// Makes copies of the bundles that a web container names, as one change. The reply has one result
/// for each bundle, in their order.
#[derive(Debug, Clone)]
pub struct CopyLinkedBundles {
    /// The web container.
    pub container: Loid,
    /// The copies of different bundles, at most [`MAX_COPIES`].
    pub copies: Vec<CopyToChannel>,
}

/// The source of a copy, determined before any copy is made.
enum CopySource {
    /// The bundle's existing copy for the channel.
    There(Loid),
    /// The object that provides content and attributes.
    From(Loid),
}

impl JointCommand for CopyLinkedBundles {
    type Reply = Vec<CopiedBundle>;
    const NAME: &'static str = "web.channelcopy";

    fn wants(&self) -> Vec<Loid> {
        // A call with too many copies is refused; the rest need not be loaded for that.
        std::iter::once(self.container).chain(self.copies.iter().take(MAX_COPIES).map(|copy| copy.bundle)).collect()
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<Vec<CopiedBundle>, CommandFault> {
        let container = turns.any(self.container)?.record.clone();
        context.expects(&container);
        if container.is_discarded() {
            return Err(Error::not_found(self.container).into());
        }
        let bundles = self.copies.len();
        if bundles > MAX_COPIES {
            let message =
                format!("`{}` names {bundles} bundles; at most {MAX_COPIES} can be copied at once.", self.container);
            let error = Error::new(Code::TooLarge, message).with_source(self.container);
            return Err(error.with_detail("limit", MAX_COPIES).into());
        }
        // All sources are determined before the first copy is made. Otherwise each copy would
        // request one more turn, and all would be made again for it.
        let plans = self.copies.iter().map(|copy| copy.plan(turns, context)).collect::<Result<Vec<_>, _>>()?;
        turns.need(plans.iter().filter_map(CopySource::from))?;
        let mut copied = Vec::with_capacity(bundles);
        for (copy, plan) in self.copies.iter().zip(plans) {
            let one = copy.make(plan, turns, context)?;
            if let ChannelCopyOutcome::New(made) = one {
                context.concerns(self.container, made);
            }
            copied.push(CopiedBundle { bundle: copy.bundle, copied: one });
        }
        if copied.iter().any(|one| matches!(one.copied, ChannelCopyOutcome::New(_))) {
            turns.touch(self.container)?;
        }
        Ok(copied)
    }
}

impl CopySource {
    /// Returns the object whose turn the copy takes. A check-in there is therefore either done
    /// before, or meets the copy as a follower.
    fn from(&self) -> Option<Loid> {
        match self {
            CopySource::There(_) => None,
            CopySource::From(from) => Some(*from),
        }
    }
}

impl CopyToChannel {
    /// Determines the source of the copy.
    fn plan(&self, turns: &mut ContainerTurns, context: &Context<'_>) -> Result<CopySource, CommandFault> {
        let bundle = turns.any(self.bundle)?;
        if bundle.record.is_discarded() {
            return Err(Error::not_found(self.bundle).into());
        }
        if bundle.record.family != FamilyKind::Bundle {
            let message = format!("`{}` is of type {}, not a bundle.", self.bundle, bundle.record.type_name);
            return Err(Error::new(Code::InvalidType, message).with_source(self.bundle).into());
        }
        if let Some(existing) = child(context.look(), ReadLevel::Latest, self.bundle, &self.channel)? {
            return Ok(CopySource::There(existing));
        }
        check_room(self.bundle, context)?;
        Ok(CopySource::From(self.from(context)?))
    }

    /// Makes the copy, unless there is one for the channel.
    fn make(
        &self,
        plan: CopySource,
        turns: &mut ContainerTurns,
        context: &mut Context<'_>,
    ) -> Result<ChannelCopyOutcome, CommandFault> {
        let from = match plan {
            CopySource::There(existing) => return Ok(ChannelCopyOutcome::There(existing)),
            CopySource::From(from) => turns.any(from)?.clone(),
        };
        let bundle = turns.any(self.bundle)?.clone();
        let content = match &from.record.content {
            Some(content) => Some(reuse_content(content, from.record.loid.at_version(from.record.version), context)?),
            None => None,
        };
        // The bundle and its copies are a family of stories.
        let suid = bundle.record.suid.clone().unwrap_or_else(|| bundle.record.uuid.to_string().into());
        let object = turns.any(self.bundle)?;
        if object.record.suid.is_none() {
            Arc::make_mut(&mut object.record).suid = Some(suid.clone());
        }
        let loid = Loid::new(self.bundle.database, context.next_number()?);
        let record = Record {
            folder: Some(FolderKey(self.bundle)),
            work_folder: bundle.record.work_folder.clone(),
            issue_date: bundle.record.issue_date.clone(),
            version: u32::from(content.is_some()),
            suid: Some(suid),
            status: self.status.clone(),
            content: content.as_ref().map(|new| new.content.clone()),
            lock: self.checked_out_s.map(|lasts_s| lock_of(None, lasts_s, context)),
            copy: Some(ChannelCopy {
                channel: self.channel.clone(),
                inherited_from: self.inherit.as_ref().map(|_| FolderKey(from.record.loid)),
                inherit_from: self.inherit.as_ref().map(|inherit| inherit.channel.clone()),
                version: from.record.version,
                follows: self.inherit.is_some(),
            }),
            ..Record::new(loid, &self.channel, &self.type_name, FamilyKind::Document, &context.who.user, context.now_ms)
        };
        let by = record.uuid;
        let attributes = Attributes { loid, usage_tickets: None, ..Attributes::clone(&from.attributes) };
        context.create(&Object { record: Arc::new(record), attributes: Arc::new(attributes) })?;
        if let Some(new) = &content {
            context.put_version(None, loid.at_version(1), new, context.now_s());
        }
        let (user, at) = (&context.who.user, context.now_s());
        let one = ObjectUse { kind: "channelCopy", name: &self.channel, by, user, at };
        note_use(turns.any(self.bundle)?, &one, self.ticket);
        turns.touch(self.bundle)?;
        context.concerns(self.bundle, loid);
        Ok(ChannelCopyOutcome::New(loid))
    }

    /// Returns the object that provides the copy's content and attributes.
    fn from(&self, context: &Context<'_>) -> Result<Loid, CommandFault> {
        let Some(CopyInheritance { channel, is_neutral }) = &self.inherit else { return Ok(self.bundle) };
        if let Some(loid) = child(context.look(), ReadLevel::Latest, self.bundle, channel)?
            && let Some(record) = context.look_up::<Record>(&Record::live_key(loid))?
            && record.copy.is_some()
        {
            return Ok(loid);
        }
        if *is_neutral {
            return Ok(self.bundle);
        }
        Err(Error::parameter("inheritFrom", &**channel, "a channel that the bundle has a copy for").into())
    }
}
