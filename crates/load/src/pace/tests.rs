use super::*;

fn open(ramp: Ramp, clients: usize) -> Pace {
    Pace { ramp, open: true, clients, count: None, length: Some(Duration::from_secs(10)) }
}

fn ramp(text: &str) -> Ramp {
    Ramp::parse(text).unwrap()
}

fn seconds(turn: OperationStart) -> f64 {
    let OperationStart::At(time) = turn else { panic!("{turn:?} has no time") };
    time.as_secs_f64()
}

#[test]
fn a_level_rate_spreads_arrivals_evenly_over_clients() {
    let pace = open(Ramp::level(100.0), 4);
    let mut all: Vec<f64> = (0..4)
        .flat_map(|client| (0..50).map(move |done| (client, done)))
        .map(|(client, done)| seconds(pace.turn(client, done, Duration::ZERO)))
        .collect();
    all.sort_by(f64::total_cmp);
    for (number, time) in all.iter().enumerate() {
        assert!((time - number as f64 / 100.0).abs() < 1e-6, "arrival {number} at {time}");
    }
    // The times are fixed: that a client is late changes none of them.
    assert_eq!(pace.turn(1, 7, Duration::from_secs(9)), pace.turn(1, 7, Duration::ZERO));
}

#[test]
fn a_rising_rate_has_as_many_arrivals_as_lie_under_its_line() {
    let line = ramp("0s:1,10s:101");
    // Under the line from 0 to t lie t + 5t².
    for time in [0.0f64, 0.5, 1.0, 3.3, 9.9] {
        assert!((line.due(time + 5.0 * time * time) - time).abs() < 1e-9);
    }
    // Behind the last point it stays level.
    assert!((line.due(510.0 + 101.0 * 3.0) - 13.0).abs() < 1e-9);
    let falling = ramp("0s:100,10s:1");
    assert!((falling.due(505.0 + 2.0) - 12.0).abs() < 1e-9);
    assert!((falling.due(100.0 * 2.0 - 4.95 * 4.0) - 2.0).abs() < 1e-9);
    // Level until the first point.
    assert!((ramp("5s:10,6s:20").due(40.0) - 4.0).abs() < 1e-9);
}

#[test]
fn an_open_loop_ends_with_its_time_or_its_count() {
    let mut pace = open(Ramp::level(10.0), 2);
    assert_eq!(pace.turn(1, 49, Duration::ZERO), OperationStart::At(Duration::from_millis(9900)));
    assert_eq!(pace.turn(0, 50, Duration::ZERO), OperationStart::End);
    assert_eq!(
        pace.turn(0, 3, Duration::from_secs(10)),
        OperationStart::End,
        "what is due and late is not sent after the end"
    );
    assert_eq!(pace.due_by(Duration::from_secs(10)), 100);
    assert_eq!(pace.due_by(Duration::from_millis(450)), 5);
    pace.count = Some(7);
    let all = (0..2).flat_map(|client| (0..9).map(move |done| (client, done)));
    assert_eq!(
        all.filter(|(client, done)| pace.turn(*client, *done, Duration::ZERO) != OperationStart::End).count(),
        7
    );
    assert_eq!(pace.due_by(Duration::from_secs(10)), 7);
}

#[test]
fn a_closed_loop_shares_its_count_and_follows_its_ramp() {
    let mut pace = Pace { ramp: Ramp::level(3.0), open: false, clients: 3, count: Some(10), length: None };
    let share =
        |client| (0..20).take_while(|done| pace.turn(client, *done, Duration::ZERO) == OperationStart::Now).count();
    assert_eq!([share(0), share(1), share(2)], [4, 3, 3]);
    (pace.ramp, pace.count, pace.length) = (ramp("0s:1,10s:3,20s:1"), None, Some(Duration::from_secs(30)));
    let turn = |client, second| pace.turn(client, 5, Duration::from_secs(second));
    assert_eq!(turn(0, 0), OperationStart::Now);
    assert!((seconds(turn(1, 0)) - 5.0).abs() < 1e-6, "the second client begins half way up");
    assert!((seconds(turn(2, 0)) - 10.0).abs() < 1e-6);
    assert_eq!(turn(1, 12), OperationStart::Now);
    assert_eq!(turn(2, 12), OperationStart::End, "and the last goes first, for good");
    assert_eq!(turn(0, 30), OperationStart::End);
}

#[test]
fn ramps_are_written_as_they_are_read_and_faults_are_named() {
    assert_eq!(ramp("0s:1, 500ms:7,1m:64").to_string(), "0s:1,0.5s:7,60s:64");
    assert!((ramp("0s:1,10s:3").at(5.0) - 2.0).abs() < 1e-9);
    for (text, part) in [
        ("", "is not like"),
        ("5", "is not like"),
        ("x:5", "no time"),
        ("1s:x", "whole number"),
        ("1s:0", "the minimum is 1"),
        ("2s:1,1s:2", "not later"),
        ("1s:1,1s:2", "not later"),
    ] {
        let error = Ramp::parse(text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[tokio::test]
async fn an_alarm_rings_in_order_and_not_too_early() {
    let alarm = Alarm::start().unwrap();
    let now = Instant::now();
    let times = [30u64, 10, 20].map(|ms| now + Duration::from_millis(ms));
    let rung = futures_util::future::join_all(times.iter().map(|time| async {
        alarm.until(*time).await;
        Instant::now()
    }));
    for (rung, time) in rung.await.into_iter().zip(times) {
        assert!(rung >= time);
    }
    alarm.until(now).await;
}
