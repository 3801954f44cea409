#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| forbear_fuzz::targets::fields::target(input));
