//! The fields of items: their comments and attachments. Only the client that created an item
//! changes them, one call after the other, so no other calls affect them.

use std::collections::HashMap;

use super::model::LineNumber;
use super::wire::ShownItemFields;

/// The possible final fields of an item: the last acknowledged ones, and those of later calls
/// without a certain outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedFields {
    steps: Vec<u32>,
    attached: Vec<Option<usize>>,
}

impl Default for ExpectedFields {
    fn default() -> ExpectedFields {
        ExpectedFields { steps: vec![0], attached: vec![None] }
    }
}

/// The field that one call sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldChange {
    /// The step of another comment.
    Step(u32),
    /// The index of another attached object.
    Attached(usize),
}

impl ExpectedFields {
    /// Notes a call that sets a field. `is_sure` if it was acknowledged; otherwise its outcome is
    /// unknown.
    pub fn say(&mut self, saying: FieldChange, is_sure: bool) {
        if is_sure {
            match saying {
                FieldChange::Step(_) => self.steps.clear(),
                FieldChange::Attached(_) => self.attached.clear(),
            }
        }
        match saying {
            FieldChange::Step(step) => self.steps.push(step),
            FieldChange::Attached(object) => self.attached.push(Some(object)),
        }
    }

    fn may_be(&self, (step, attached): ShownItemFields) -> bool {
        self.steps.contains(&step) && self.attached.contains(&attached)
    }
}

/// Compares the fields of the items with the expected ones and returns a sentence for each item
/// that differs.
pub fn compare(told: &HashMap<LineNumber, ExpectedFields>, held: &HashMap<LineNumber, ShownItemFields>) -> Vec<String> {
    let nothing = ExpectedFields::default();
    let mut problems: Vec<_> = held
        .iter()
        .filter(|(line, said)| !told.get(line).unwrap_or(&nothing).may_be(**said))
        .map(|(line, (step, attached))| {
            let told = told.get(line).unwrap_or(&nothing);
            let has = attached.map_or("nothing".to_owned(), |object| format!("object {object}"));
            let wanted = told.attached.last().copied().flatten();
            let wanted = wanted.map_or("nothing".to_owned(), |object| format!("object {object}"));
            let step_wanted = told.steps.last().copied().unwrap_or_default();
            (
                *line,
                format!(
                    "in the end item {line} has comment {step} and {has} attached, and should have comment {step_wanted} and {wanted}"
                ),
            )
        })
        .collect();
    problems.sort_unstable();
    problems.into_iter().map(|(_, problem)| problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(sayings: &[(FieldChange, bool)], said: ShownItemFields) -> usize {
        let mut told = ExpectedFields::default();
        sayings.iter().for_each(|(saying, is_sure)| told.say(*saying, *is_sure));
        compare(&[(7, told)].into(), &[(7, said)].into()).len()
    }

    #[test]
    fn the_last_that_was_acknowledged_counts_and_what_is_in_doubt_may_be() {
        use FieldChange::*;
        assert_eq!(problems(&[], (0, None)), 0);
        assert_eq!(problems(&[], (1, None)), 1);
        let said = [(Step(3), true), (Attached(1), true), (Step(4), true)];
        assert_eq!(problems(&said, (4, Some(1))), 0);
        assert_eq!(problems(&said, (3, Some(1))), 1, "a planted loss");
        assert_eq!(problems(&said, (4, None)), 1, "a planted loss");
        let doubted = [(Step(3), true), (Step(4), false), (Attached(1), false)];
        for said in [(3, None), (4, None), (3, Some(1)), (4, Some(1))] {
            assert_eq!(problems(&doubted, said), 0);
        }
        assert_eq!(problems(&doubted, (0, None)), 1);
        assert_eq!(problems(&[(Step(3), false), (Step(4), true)], (3, None)), 1, "one call comes after the other");
        let unknown = compare(&HashMap::new(), &[(9, (5, Some(0)))].into());
        assert!(unknown[0].contains("item 9 has comment 5 and object 0 attached"), "{unknown:?}");
    }
}
