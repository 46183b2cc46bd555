//! Links between two objects, or items of topics (docs/api/objects.md, "Correlates").

use std::collections::BTreeSet;

use crate::command::{CommandFault, Context};
use crate::error::{Code, Error};
use crate::id::{Loid, ObjectUuid};
use crate::joint::{ContainerTurns, JointCommand};
use crate::object::{Link, MAX_CORRELATES, MAX_WORD_BYTES, SharedText, check_texts, links_of};
use crate::planning::topic::{ItemAddress, Topic};
use crate::store::{ReadLevel, Row, StoreError};
use crate::usage::{ObjectUse, TicketWriter, note_use};

/// One side of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkEnd {
    /// The object, or the topic that the item is in.
    pub container: Loid,
    /// The item.
    pub item: Option<Loid>,
}

impl LinkEnd {
    /// Returns the loid of the linked object or item.
    pub fn loid(self) -> Loid {
        self.item.unwrap_or(self.container)
    }

    /// Returns the uuid of the linked object or item.
    fn uuid(self, turns: &mut ContainerTurns) -> Result<ObjectUuid, CommandFault> {
        Ok(match self.item {
            Some(item) => turns.get::<Topic>(self.container)?.get(ItemAddress::Loid(item))?.record.uuid,
            None => turns.any(self.container)?.record.uuid,
        })
    }

    /// Refuses an object or item that does not exist or is in the recycle bin.
    fn check(self, turns: &mut ContainerTurns) -> Result<(), CommandFault> {
        if turns.any(self.container)?.record.is_discarded() {
            return Err(Error::not_found(self.loid()).into());
        }
        if let Some(item) = self.item {
            turns.get::<Topic>(self.container)?.get(ItemAddress::Loid(item))?;
        }
        Ok(())
    }
}

/// The two sides of a link, and its name on each side.
#[derive(Debug, Clone)]
pub struct CorrelatePair {
    /// The side that the caller names first.
    pub source: LinkEnd,
    /// The name of the link at the source.
    pub source_name: SharedText,
    /// The other side.
    pub target: LinkEnd,
    /// The name of the link at the target.
    pub target_name: SharedText,
}

impl CorrelatePair {
    fn containers(&self) -> Vec<Loid> {
        BTreeSet::from([self.source.container, self.target.container]).into_iter().collect()
    }

    /// Returns the link, and the same link as if made from the other side.
    fn links(&self) -> [Link; 2] {
        let link = Link {
            source: self.source.loid(),
            source_name: self.source_name.clone(),
            target: self.target.loid(),
            target_name: self.target_name.clone(),
        };
        let reversed = link.reversed();
        [link, reversed]
    }

    /// Returns the existing link between the sides that has these names.
    fn existing(&self, context: &Context<'_>) -> Result<Option<Link>, StoreError> {
        for link in self.links() {
            if context.look_up::<Link>(&link.place())?.is_some() {
                return Ok(Some(link));
            }
        }
        Ok(None)
    }

    /// Takes the turns, and checks that both sides exist and that the names are valid.
    fn check(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
        turns.need(self.containers())?;
        let record = turns.any(self.source.container)?.record.clone();
        context.expects(&record);
        for end in [self.source, self.target] {
            end.check(turns)?;
        }
        for (field, name) in [("sourceLinkName", &self.source_name), ("targetLinkName", &self.target_name)] {
            check_texts([(field, Some(&**name), MAX_WORD_BYTES)])?;
            if name.trim().is_empty() || name.chars().any(char::is_control) {
                return Err(Error::parameter(field, &**name, "a name without control characters").into());
            }
        }
        Ok(())
    }

    /// Notes that both sides have changed. Each one's event names both.
    fn note(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
        let containers = self.containers();
        for container in &containers {
            turns.touch(*container)?;
            // The loop names two containers at most.
            containers.iter().for_each(|named| context.concerns(*container, named));
        }
        Ok(())
    }
}

/// Links two sides. An existing link with these names, made from either side, stays as it is. The
/// link uses its target: if that is an object, the use is noted in its usage tickets.
#[derive(Debug, Clone)]
pub struct MakeLink {
    /// The sides to link, with the names of the link.
    pub pair: CorrelatePair,
    /// The way to note the use.
    pub ticket: TicketWriter,
}

impl JointCommand for MakeLink {
    type Reply = ();
    const NAME: &'static str = "object.correlate";

    fn about(&self, _: &()) -> Option<Loid> {
        Some(self.pair.source.container)
    }

    fn wants(&self) -> Vec<Loid> {
        self.pair.containers()
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
        let pair = &self.pair;
        pair.check(turns, context)?;
        let [link, _] = pair.links();
        if link.source == link.target {
            let message = format!("`{}` can't be correlated with itself.", link.source);
            return Err(Error::new(Code::InvalidForContainer, message).with_source(link.target).into());
        }
        if pair.existing(context)?.is_some() {
            return Ok(());
        }
        for end in [link.source, link.target] {
            if links_of(context.look(), ReadLevel::Latest, end)?.len() >= MAX_CORRELATES {
                let message = format!("`{end}` has {MAX_CORRELATES} correlates; more are not allowed.");
                let error = Error::new(Code::TooLarge, message).with_source(end).with_detail("limit", MAX_CORRELATES);
                return Err(error.into());
            }
        }
        context.put(None, &link);
        if pair.target.item.is_none() {
            let by = pair.source.uuid(turns)?;
            let (user, at) = (&context.who.user, context.now_s());
            let one = ObjectUse { kind: "correlate", name: &pair.target_name, by, user, at };
            note_use(turns.any(pair.target.container)?, &one, self.ticket);
        }
        pair.note(turns, context)
    }
}

/// Removes a link, made from either side.
#[derive(Debug, Clone)]
pub struct RemoveLink(pub CorrelatePair);

impl JointCommand for RemoveLink {
    type Reply = ();
    const NAME: &'static str = "object.uncorrelate";

    fn about(&self, _: &()) -> Option<Loid> {
        Some(self.0.source.container)
    }

    fn wants(&self) -> Vec<Loid> {
        self.0.containers()
    }

    fn apply(&self, turns: &mut ContainerTurns, context: &mut Context<'_>) -> Result<(), CommandFault> {
        let pair = &self.0;
        pair.check(turns, context)?;
        let Some(link) = pair.existing(context)? else {
            let (source, target) = (pair.source.loid(), pair.target.loid());
            let message = format!(
                "`{source}` and `{target}` have no link with the names `{}` and `{}`.",
                pair.source_name, pair.target_name
            );
            return Err(Error::new(Code::ObjectNotFound, message).with_source(target).into());
        };
        context.remove(&link);
        pair.note(turns, context)
    }
}
