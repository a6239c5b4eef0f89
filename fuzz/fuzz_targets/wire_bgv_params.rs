#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| limbwise_fuzz::bgv_params(data));
