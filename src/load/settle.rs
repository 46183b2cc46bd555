//! Looking at what a load has worked on until nothing is under way any more.

use std::time::Duration;

use super::desk::Desk;

/// How often it is looked at, and how long in between.
const LOOKS: usize = 50;
const BETWEEN: Duration = Duration::from_millis(200);

/// What is there: at once, or, if there are calls in doubt that the server may still be at, when two looks are alike.
///
/// # Errors
/// Why it can't be read, a sentence; or that `what` goes on changing.
pub async fn settled<T>(
    desk: &mut Desk,
    doubts: bool,
    what: &str,
    mut look: impl AsyncFnMut(&mut Desk) -> Result<T, String>,
    alike: impl Fn(&T, &T) -> bool,
) -> Result<T, String> {
    let mut last: Option<T> = None;
    let mut why = String::new();
    for _ in 0..LOOKS {
        match look(desk).await {
            Ok(now) => {
                if !doubts || last.as_ref().is_some_and(|last| alike(last, &now)) {
                    return Ok(now);
                }
                last = Some(now);
            }
            Err(error) => why = error,
        }
        tokio::time::sleep(BETWEEN).await;
    }
    match last {
        Some(_) => Err(format!("{what} go on changing")),
        None => Err(why),
    }
}
