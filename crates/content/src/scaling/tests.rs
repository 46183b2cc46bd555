use std::io::Cursor;

use bytes::Bytes as SharedBytes;
use futures_util::FutureExt;
use futures_util::future::join_all;
use image::{DynamicImage, ImageFormat, RgbImage};
use sha2::{Digest, Sha256};
use stet_base::limits::{Holder, MemoryBudget, on_behalf_of, with_behalf};
use stet_domain::object::ContentLocation;

use super::*;

fn picture(side: u32) -> SharedBytes {
    let mut bytes = Cursor::new(Vec::new());
    let picture = DynamicImage::from(RgbImage::from_pixel(side, side, image::Rgb([9, 99, 199])));
    picture.write_to(&mut bytes, ImageFormat::Png).expect("it can be encoded");
    bytes.into_inner().into()
}

fn content(bytes: &SharedBytes) -> Content {
    Content {
        content_type: "image/png".into(),
        size: bytes.len() as u64,
        sha256: Sha256::digest(bytes).into(),
        stored: ContentLocation::Row,
    }
}

fn scaler() -> Scaler {
    Scaler::new(&ContentConfig::default(), 64 << 20, &MemoryBudget::new(1 << 30))
}

async fn scaled(scaler: &Scaler, bytes: &SharedBytes) -> Result<ScaledPicture> {
    scaler.scaled(&content(bytes), ContentReader::of(bytes.clone())).await
}

/// Asks for a scaled picture whose content can no longer be read, so that only the cache can
/// answer.
async fn kept(scaler: &Scaler, bytes: &SharedBytes) -> Result<ScaledPicture> {
    scaler.scaled(&content(bytes), ContentReader::of(SharedBytes::from_static(b"nothing"))).await
}

#[tokio::test]
async fn scaled_pictures_and_scaling_failures_are_both_cached() {
    let scaler = scaler();
    let (good, bad) = (picture(600), SharedBytes::from_static(b"words"));
    let first = scaled(&scaler, &good).await.expect("it is a picture");
    assert_eq!(first.media_type, "image/jpeg");
    let again = kept(&scaler, &good).await.expect("it is kept");
    assert_eq!(again.bytes.as_ptr(), first.bytes.as_ptr());
    let why = scaled(&scaler, &bad).await.expect_err("it is none");
    assert_eq!(why.code, Code::InvalidType);
    assert_eq!(kept(&scaler, &bad).await, Err(why));
    let other = scaled(&scaler, &picture(601)).await.expect("it is a picture");
    assert_ne!(other.bytes.as_ptr(), first.bytes.as_ptr(), "of other bytes");
}

#[tokio::test]
async fn concurrent_requests_for_one_scaled_picture_scale_it_once() {
    let scaler = scaler();
    let bytes = picture(600);
    let all = join_all((0..20).map(|_| scaled(&scaler, &bytes))).await;
    let made: std::collections::HashSet<_> =
        all.into_iter().map(|scaled| scaled.expect("it is a picture").bytes.as_ptr()).collect();
    assert_eq!(made.len(), 1);
}

#[tokio::test]
async fn without_room_nothing_is_kept_and_all_is_made() {
    let scaler = Scaler::new(&ContentConfig::default(), 0, &MemoryBudget::new(1 << 30));
    let bytes = picture(600);
    scaled(&scaler, &bytes).await.expect("it is a picture");
    assert_eq!(scaler.kept.weight(), 0);
    kept(&scaler, &bytes).await.expect_err("it has to be made again");
}

#[tokio::test]
async fn no_more_is_kept_than_there_is_room_for() {
    let room = 8000;
    let config = ContentConfig { lowres_pixels: 16, ..ContentConfig::default() };
    let scaler = Scaler::new(&config, room, &MemoryBudget::new(1 << 30));
    for side in 0..60 {
        scaled(&scaler, &picture(17 + side)).await.expect("it is a picture");
        assert!(scaler.kept.weight() <= room);
    }
    assert!(scaler.kept.weight() > 0 && scaler.kept.len() < 60);
}

#[tokio::test(start_paused = true)]
async fn scaling_requests_that_wait_too_long_fail_and_the_next_one_succeeds() {
    let scaler = scaler();
    let bytes = picture(600);
    let turns = [scaler.turns.turn().await.expect("it is free"), scaler.turns.turn().await.expect("it is free")];
    // One waits for a turn, the others for that one.
    for outcome in join_all((0..3).map(|_| scaled(&scaler, &bytes))).await {
        assert_eq!(outcome.map(|_| ()).map_err(|error| error.code), Err(Code::Overloaded));
    }
    drop(turns);
    scaled(&scaler, &bytes).await.expect("it is a picture");
    let free =
        [scaler.turns.turn().now_or_never(), scaler.turns.turn().now_or_never(), scaler.turns.turn().now_or_never()];
    assert_eq!(free.each_ref().map(Option::is_some), [true, true, false]);
    drop(free);
}

#[tokio::test]
async fn one_who_goes_away_keeps_nobody_from_the_picture() {
    let scaler = scaler();
    let bytes = picture(600);
    let turns = [scaler.turns.turn().await.expect("it is free"), scaler.turns.turn().await.expect("it is free")];
    {
        let mut first = std::pin::pin!(scaled(&scaler, &bytes));
        let begun = std::future::poll_fn(|context| std::task::Poll::Ready(first.as_mut().poll(context))).await;
        assert!(begun.is_pending());
        let mut second = std::pin::pin!(scaled(&scaler, &bytes));
        let begun = std::future::poll_fn(|context| std::task::Poll::Ready(second.as_mut().poll(context))).await;
        assert!(begun.is_pending());
    }
    drop(turns);
    scaled(&scaler, &bytes).await.expect("it is a picture");
}

/// Regression test: a caller who asked for a picture after another caller had to wait for all
/// pictures of that caller. The wait could end in a timeout.
#[tokio::test]
async fn picture_requests_wait_in_their_own_queue_not_in_an_earlier_callers() {
    async fn of<T>(name: &str, task: impl Future<Output = T>) -> T {
        with_behalf(async {
            on_behalf_of(Holder::User(name.into()));
            task.await
        })
        .await
    }
    let scaler = scaler();
    let bytes = picture(600);
    let turns = [scaler.turns.turn().await.expect("it is free"), scaler.turns.turn().await.expect("it is free")];
    let mut others: Vec<_> = (0..WAITING - 1).map(|_| Box::pin(of("a", scaler.turns.turn()))).collect();
    for other in &mut others {
        assert!(other.as_mut().now_or_never().is_none());
    }
    // However often the same ask for it, their line has room for it.
    let mut first = Box::pin(join_all((0..3).map(|_| of("a", scaled(&scaler, &bytes)))));
    assert!(first.as_mut().now_or_never().is_none());
    let mut second = Box::pin(of("b", scaled(&scaler, &bytes)));
    assert!(second.as_mut().now_or_never().is_none());
    drop(turns);
    // The other's turn that has come is not over, and none of theirs comes meanwhile.
    let second = second.await.expect("it is a picture");
    for outcome in first.await {
        assert_eq!(outcome.expect("it is a picture").bytes.as_ptr(), second.bytes.as_ptr());
    }
}

#[tokio::test]
async fn more_bytes_than_allowed_are_not_read() {
    let scaler = Scaler::new(
        &ContentConfig { picture_bytes: 1024, ..ContentConfig::default() },
        1 << 20,
        &MemoryBudget::new(1 << 30),
    );
    let content = Content { size: 1025, ..content(&picture(10)) };
    let why = scaler.scaled(&content, ContentReader::of(picture(10))).await.expect_err("it is too large");
    assert_eq!(why.code, Code::InvalidType);
    assert!(why.message.contains("1025") && why.message.contains("1024"), "{}", why.message);
}
