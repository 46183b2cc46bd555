//! Repeated reads of the containers of a load, until no change is under way.

use std::time::Duration;

use tokio::time::Instant;

/// The time for which new reads are begun, and the pause between them.
const LONGEST: Duration = Duration::from_secs(20);
const BETWEEN: Duration = Duration::from_millis(200);

/// The minimum number of reads, however long each takes: as many as can be compared.
const LEAST: usize = 2;

/// Reads the final state. With calls in doubt, which the server may still be running, it reads
/// until two reads in a row are alike.
///
/// # Errors
/// One sentence: why it cannot be read, or that `what` keeps changing.
pub async fn read_until_settled<D, T>(
    desk: &mut D,
    doubts: bool,
    what: &str,
    mut look: impl AsyncFnMut(&mut D) -> Result<T, String>,
    alike: impl Fn(&T, &T) -> bool,
) -> Result<T, String> {
    let begun = Instant::now();
    let mut last = Err(format!("{what} were not read"));
    let mut looks = 0;
    while looks < LEAST || begun.elapsed() < LONGEST {
        let now = look(desk).await;
        match (&last, now) {
            (_, Ok(now)) if !doubts => return Ok(now),
            (Ok(last), Ok(now)) if alike(last, &now) => return Ok(now),
            (_, now) => last = now,
        }
        looks += 1;
        tokio::time::sleep(BETWEEN).await;
    }
    Err(last.err().unwrap_or_else(|| format!("{what} keep changing")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the result of reads that take the given time each, and their number.
    async fn looked(
        doubts: bool,
        takes: Duration,
        mut look: impl FnMut(usize) -> Result<usize, String>,
    ) -> (Result<usize, String>, usize) {
        let mut looks = 0;
        let look = async |looks: &mut usize| {
            tokio::time::sleep(takes).await;
            *looks += 1;
            look(*looks)
        };
        let settled = read_until_settled(&mut looks, doubts, "the posts", look, |last, now| last == now).await;
        (settled, looks)
    }

    const SHORT: Duration = Duration::from_millis(1);

    #[tokio::test(start_paused = true)]
    async fn one_read_settles_without_doubts_and_with_doubts_two_must_agree() {
        assert_eq!(looked(false, SHORT, Ok).await, (Ok(1), 1));
        assert_eq!(looked(false, SHORT, |look| if look < 3 { Err("away".into()) } else { Ok(7) }).await, (Ok(7), 3));
        assert_eq!(looked(true, SHORT, |look| Ok(look.min(4))).await, (Ok(4), 5));
        // A failed read may hide a change and its reversal.
        assert_eq!(looked(true, SHORT, |look| if look == 2 { Err("away".into()) } else { Ok(7) }).await, (Ok(7), 4));
    }

    #[tokio::test(start_paused = true)]
    async fn values_that_never_settle_are_reported_with_the_last_reason() {
        assert_eq!(looked(true, SHORT, Ok).await.0, Err("the posts keep changing".to_owned()));
        let away = |look| if look == 1 { Ok(1) } else { Err("the server is away".to_owned()) };
        assert_eq!(looked(true, SHORT, away).await.0, Err("the server is away".to_owned()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_stalled_is_not_looked_at_again_and_again() {
        let (settled, looks) =
            looked(true, Duration::from_secs(15), |_| Err("no answer came in time".to_owned())).await;
        assert_eq!((settled, looks), (Err("no answer came in time".to_owned()), 2));
        // A slow server is not a stalled one.
        assert_eq!(looked(true, Duration::from_secs(60), |_| Ok(7)).await, (Ok(7), 2));
    }
}
