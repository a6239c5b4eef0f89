//! Readers that go away, and writers that are stopped.

use crate::common::{Folder, TINY};
use std::{io::pipe, process::Stdio, time::Duration};

#[test]
fn a_closed_pipe_is_no_panic() {
    let folder = Folder::new("pipe");
    for arguments in [&["list"][..], &["list", "--json"], &["params", "show"], &["run", "--help"]] {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let output = folder.command(arguments).stdout(writer).stderr(Stdio::piped()).spawn().unwrap();
        let output = output.wait_with_output().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.is_empty() && output.status.success(), "{arguments:?}: {text}");
    }
}

#[test]
fn a_fault_of_the_system_is_not_the_users() {
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else {
        return eprintln!("SKIPPED: this system has no /dev/full");
    };
    for arguments in [&["list"][..], &["--help"], &["time", "--help"], &["--version"]] {
        let output = Folder::new("full").command(arguments).stdout(full.try_clone().unwrap()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_stopped_run_leaves_no_file() {
    let folder = Folder::new("stopped");
    folder.write("tiny.toml", TINY);
    let arguments = ["run", "logreg", "--preset", "tiny.toml", "--iterations", "2", "--degree", "3", "--out", "r.json"];
    let mut run = folder.command(&arguments);
    // Without given rates or a calibration from an earlier run, with which it could be over before it is stopped.
    run.env_remove("LIMBWISE_RATES").env("XDG_CACHE_HOME", "/dev/null").stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = run.spawn().unwrap();
    // Anywhere between the start and the report: the calibration alone takes longer.
    std::thread::sleep(Duration::from_millis(300));
    run.kill().unwrap();
    assert!(!run.wait().unwrap().success(), "stopped before it was over");
    assert_eq!(folder.names(), ["tiny.toml"]);
}
