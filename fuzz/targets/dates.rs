#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| stet::fuzzing::run("dates", data));
