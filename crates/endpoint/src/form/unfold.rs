//! Unfolding of the heads of parts, so that each header is in one line.
//!
//! Mail libraries fold a long header: its next line begins with a blank (RFC 5322, 2.2.3). The
//! reader of the parts does not support folded lines, so line ends before blanks are removed here.
//! Only heads are changed. Bodies pass through without being copied.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use actix_web::error::PayloadError;
use bytes::Bytes;
use futures_util::Stream;

/// The byte stream of a form, with its heads unfolded.
pub struct UnfoldedForm<S> {
    form: S,
    unfolder: Unfolder,
}

impl<S> UnfoldedForm<S> {
    /// Unfolds the heads of the parts that `boundary` separates.
    pub fn new(form: S, boundary: &str) -> UnfoldedForm<S> {
        UnfoldedForm { form, unfolder: Unfolder::new(boundary) }
    }
}

impl<S: Stream<Item = Result<Bytes, PayloadError>> + Unpin> Stream for UnfoldedForm<S> {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            match ready!(Pin::new(&mut self.form).poll_next(context)) {
                Some(Ok(chunk)) => {
                    let unfolded = self.unfolder.unfold(chunk);
                    if !unfolded.is_empty() {
                        return Poll::Ready(Some(Ok(unfolded)));
                    }
                }
                None if !self.unfolder.held.is_empty() => {
                    return Poll::Ready(Some(Ok(std::mem::take(&mut self.unfolder.held).into())));
                }
                ended => return Poll::Ready(ended),
            }
        }
    }
}

struct Unfolder {
    /// Two dashes and the boundary.
    delimiter: Vec<u8>,
    place: UnfoldPosition,
    /// The end of a line of a head, at most two bytes. The next byte decides whether it is kept.
    held: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnfoldPosition {
    /// A line that is no delimiter; whether its last byte is a carriage return.
    Body { returned: bool },
    /// The beginning of a line; the number of bytes that match the delimiter.
    Delimiter(usize),
    /// The text after a delimiter; whether a carriage return was read.
    Delimited { returned: bool },
    /// A head; whether the line has no byte yet.
    Head { empty: bool },
    /// The text after the end of the form.
    End,
}

impl Unfolder {
    fn new(boundary: &str) -> Unfolder {
        Unfolder {
            delimiter: format!("--{boundary}").into_bytes(),
            place: UnfoldPosition::Delimiter(0),
            held: Vec::new(),
        }
    }

    fn unfold(&mut self, chunk: Bytes) -> Bytes {
        let mut unfolded: Vec<u8> = Vec::new();
        // The offset from which the chunk is not in `unfolded` yet, once anything is.
        let (mut copied, mut at) = (0, 0);
        while let Some(byte) = chunk.get(at) {
            if let UnfoldPosition::Body { returned: false } = self.place {
                let Some(found) = chunk[at..].iter().position(|byte| *byte == b'\r') else { break };
                at += found + 1;
                self.place = UnfoldPosition::Body { returned: true };
                continue;
            }
            let UnfoldPosition::Head { empty } = self.place else {
                self.place = self.next(*byte);
                at += 1;
                continue;
            };
            match (byte, self.held.len()) {
                (b'\r', 0) | (b'\n', 1) => {
                    unfolded.extend_from_slice(&chunk[copied..at]);
                    copied = at + 1;
                    self.held.push(*byte);
                    if self.held.len() == 2 && empty {
                        // The empty line after the head. A delimiter has a line end of its own
                        // before it.
                        unfolded.append(&mut self.held);
                        self.place = UnfoldPosition::Body { returned: false };
                    }
                    at += 1;
                }
                (b' ' | b'\t', 2) => self.held.clear(),
                (_, whole @ 1..) => {
                    unfolded.append(&mut self.held);
                    self.place = UnfoldPosition::Head { empty: whole == 2 };
                }
                _ => {
                    self.place = UnfoldPosition::Head { empty: false };
                    at += 1;
                }
            }
        }
        if copied == 0 && unfolded.is_empty() && self.held.is_empty() {
            return chunk;
        }
        unfolded.extend_from_slice(&chunk[copied..]);
        unfolded.into()
    }

    /// Returns the place after a byte that is in no head.
    fn next(&self, byte: u8) -> UnfoldPosition {
        match (self.place, byte) {
            (UnfoldPosition::Body { returned: true }, b'\n') => UnfoldPosition::Delimiter(0),
            (UnfoldPosition::Delimiter(known), byte) if self.delimiter.get(known) == Some(&byte) => match known + 1 {
                whole if whole == self.delimiter.len() => UnfoldPosition::Delimited { returned: false },
                more => UnfoldPosition::Delimiter(more),
            },
            (UnfoldPosition::Delimited { returned: false }, b'\r') => UnfoldPosition::Delimited { returned: true },
            (UnfoldPosition::Delimited { returned: true }, b'\n') => UnfoldPosition::Head { empty: true },
            (UnfoldPosition::Delimited { returned: false }, b'-') | (UnfoldPosition::End, _) => UnfoldPosition::End,
            (_, byte) => UnfoldPosition::Body { returned: byte == b'\r' },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the result, which must be the same for chunks of each size.
    fn unfolded(form: &str) -> String {
        let in_chunks = |size: usize| {
            let mut unfolder = Unfolder::new("b");
            let chunks = form.as_bytes().chunks(size);
            let mut whole: Vec<u8> = chunks.flat_map(|chunk| unfolder.unfold(Bytes::copy_from_slice(chunk))).collect();
            whole.append(&mut unfolder.held);
            String::from_utf8(whole).unwrap()
        };
        let whole = in_chunks(form.len());
        for size in 1..form.len() {
            assert_eq!(in_chunks(size), whole, "{size}");
        }
        whole
    }

    #[test]
    fn folded_lines_of_heads_become_one_and_bodies_stay() {
        for (form, expected) in [
            (
                "--b\r\nA: x;\r\n\ty;\r\n  z\r\nB: 1\r\n\r\nbody\r\n folded\r\n--b\r\nC:\r\n 2\r\n\r\n\r\n \r\n--b--\r\n",
                "--b\r\nA: x;\ty;  z\r\nB: 1\r\n\r\nbody\r\n folded\r\n--b\r\nC: 2\r\n\r\n\r\n \r\n--b--\r\n",
            ),
            ("preamble\r\n x\r\n--b\r\nA: x\r\n y\r\n\r\n", "preamble\r\n x\r\n--b\r\nA: x y\r\n\r\n"),
            // A text that only resembles a delimiter begins no head.
            ("--bb\r\nA:\r\n x\r\n", "--bb\r\nA:\r\n x\r\n"),
            ("--b\r\nA: 1\r\n\r\n\n--b\r\nA:\r\n x\r\n", "--b\r\nA: 1\r\n\r\n\n--b\r\nA:\r\n x\r\n"),
            ("--b\r\nA: 1\r\n\r\nx--b\r\nA:\r\n x\r\n", "--b\r\nA: 1\r\n\r\nx--b\r\nA:\r\n x\r\n"),
            ("--b\r\nA: 1\r\n\r\n--b\r\nA:\r\n x\r\n", "--b\r\nA: 1\r\n\r\n--b\r\nA:\r\n x\r\n"),
            ("--b--\r\n--b\r\nA:\r\n x\r\n", "--b--\r\n--b\r\nA:\r\n x\r\n"),
            // A carriage return alone ends no line.
            ("--b\r\nA: x\r y\r\r\n z\r\n\r\n", "--b\r\nA: x\r y\r z\r\n\r\n"),
            ("--b\r\n\r\n x\r\n y\r\n--b\r\n\r\n", "--b\r\n\r\n x\r\n y\r\n--b\r\n\r\n"),
            ("--b\r\nA: x\r\n", "--b\r\nA: x\r\n"),
        ] {
            assert_eq!(unfolded(form), expected, "{form:?}");
        }
    }
}
