use super::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn merging_what_threads_measured_is_as_if_one_had_measured_all() {
    let (mut one, mut two, mut all) = (Recorder::new(2), Recorder::new(2), Recorder::new(2));
    for n in 1..1000u64 {
        let kind = (n % 2) as usize;
        let outcome = match n % 7 {
            0 => OperationOutcome::Refused("CMS.DrawerFull".into()),
            1 => OperationOutcome::Failed("timeout".into()),
            2 => OperationOutcome::Overloaded("CMS.Overloaded".into()),
            _ => OperationOutcome::Succeeded,
        };
        let answered = n % 11 != 0;
        let half = if n % 3 == 0 { &mut one } else { &mut two };
        half.record(kind, ms(n), outcome.clone(), answered);
        all.record(kind, ms(n), outcome, answered);
    }
    for kind in 0..2 {
        let mut merged = one.kinds[kind].clone();
        merged.add(&two.kinds[kind]);
        assert_eq!(merged.latency, all.kinds[kind].latency);
        assert_eq!(merged.refusals, all.kinds[kind].refusals);
        assert_eq!((merged.counts, merged.waited), (all.kinds[kind].counts, all.kinds[kind].waited));
    }
    let (mut slice, whole) = (one.take_slice(), all.take_slice());
    slice.add(two.take_slice());
    assert_eq!(slice.latency, whole.latency);
    assert_eq!((slice.counts, &slice.codes), (whole.counts, &whole.codes));
    assert_eq!(slice.codes.failed["timeout"], slice.counts.failed);
    let OutcomeCounts { succeeded, refused, overloaded, failed } = whole.counts;
    assert!([succeeded, refused, overloaded, failed].iter().all(|count| *count > 100), "{:?}", whole.counts);
    assert_eq!((whole.latency.len(), whole.codes.overloaded["CMS.Overloaded"]), (succeeded, overloaded));
    let refusals = all.kinds.iter().map(|kind| kind.refusals.len()).sum::<u64>();
    assert_eq!(refusals, refused + overloaded, "the time of a refusal is none of a success");
    assert_eq!(all.take_slice().counts, OutcomeCounts::default(), "a slice is taken once");
}

#[test]
fn a_long_course_keeps_few_intervals_and_loses_nothing() {
    let mut series = MeasurementSeries::default();
    for n in 0..5000u32 {
        let mut slice = MeasurementSlice::default();
        slice.counts.succeeded = 1;
        slice.latency.record(u64::from(n) + 1).expect("it is within bounds");
        series.push(f64::from(n + 1), slice);
    }
    series.finish();
    let intervals = series.intervals();
    assert!(intervals.len() <= MOST_INTERVALS, "{}", intervals.len());
    assert_eq!(intervals.iter().map(|interval| interval.slice.counts.succeeded).sum::<u64>(), 5000);
    assert_eq!(intervals.iter().map(|interval| interval.slice.latency.len()).sum::<u64>(), 5000);
    for two in intervals.windows(2) {
        assert!((two[0].from + two[0].length - two[1].from).abs() < 1e-6, "no gap, no overlap");
    }
    assert!((intervals.iter().map(|interval| interval.length).sum::<f64>() - 5000.0).abs() < 1e-6);
}
