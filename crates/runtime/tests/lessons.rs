//! The numbered lessons of `examples/` run, and find what they tell.

#[path = "../examples/lesson_01_bootstrap.rs"]
#[expect(dead_code, reason = "its main prints what is tested here")]
mod lesson_01_bootstrap;

#[test]
fn a_ciphertext_is_bootstrapped_and_used() {
    let lesson = lesson_01_bootstrap::lesson().unwrap();
    // Two levels for SlotToCoeff, five to use.
    assert_eq!(lesson.levels, [2, 7, 6]);
    assert!(lesson.measured.mean > 17.0 && (lesson.measured.mean - lesson.expected).abs() < 2.0, "{lesson:?}");
}
