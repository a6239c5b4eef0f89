//! A child process for untrusted work: it gets a request, answers, and can be killed at any time.

use std::{
    io::{self, Read, Write as _},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

#[derive(Debug)]
pub enum Outcome {
    /// Clean exit, with this on its standard output.
    Answered(Vec<u8>),
    /// Killed because nobody wants the answer any more.
    Stopped,
    /// Killed at its time limit.
    TimeIsOver,
    /// Ended without an answer, by itself or by the system.
    Ended {
        status: ExitStatus,
        /// The beginning of its standard error.
        said: String,
    },
}

/// Longest answer that is read: a child computes on hostile input.
const MOST_ANSWER: u64 = 1 << 20;
/// Longest standard error that is kept.
const MOST_SAID: u64 = 4096;
/// Polling interval for a child's state.
const PAUSE: Duration = Duration::from_millis(10);

/// Starts a child, sends a request to its standard input, and waits until it exits, its time is over, or `stopped`
/// returns true. The input stays open until then. A child that sees its input close knows that the server has ended.
pub fn ask(command: &mut Command, request: &[u8], time: Duration, stopped: &dyn Fn() -> bool) -> io::Result<Outcome> {
    // A separate process group: the server ends its children itself, so that Ctrl-C on the terminal must not reach
    // them.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut child = Ending(spawned);
    let (input, output, errors) = (child.0.stdin.take(), child.0.stdout.take(), child.0.stderr.take());
    let (done, until_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        // Separate threads, because a child that neither reads nor writes must not block the time limit.
        scope.spawn(move || {
            // A child that exited early does not read; its standard error says why.
            let Some(mut input) = input else { return };
            let _ = input.write_all(request);
            let _ = until_done.recv();
        });
        let answer = scope.spawn(|| output.map(|output| beginning(output, MOST_ANSWER)).unwrap_or_default());
        let said = scope.spawn(|| errors.map(|errors| beginning(errors, MOST_SAID)).unwrap_or_default());
        let ended = child.wait(time, stopped);
        drop(done);
        drop(child); // so that its pipes end, and with them the threads
        let (answer, said) = (answer.join().unwrap_or_default(), said.join().unwrap_or_default());
        Ok(match ended? {
            Some(status) if status.success() => Outcome::Answered(answer),
            Some(status) => Outcome::Ended { status, said: String::from_utf8_lossy(&said).trim().into() },
            None if stopped() => Outcome::Stopped,
            None => Outcome::TimeIsOver,
        })
    })
}

/// A child that is killed when its owner is dropped.
struct Ending(Child);

impl Ending {
    /// Waits for its exit; `None` if it must be killed.
    fn wait(&mut self, time: Duration, stopped: &dyn Fn() -> bool) -> io::Result<Option<ExitStatus>> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait()? {
                return Ok(Some(status));
            }
            if stopped() || start.elapsed() >= time {
                return Ok(None);
            }
            thread::sleep(PAUSE);
        }
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first bytes of a stream. The rest is read and dropped, so that the writer does not block.
fn beginning(mut from: impl Read, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = from.by_ref().take(most).read_to_end(&mut bytes);
    let _ = io::copy(&mut from, &mut io::sink());
    bytes
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt as _;

    const LONG: Duration = Duration::from_secs(600);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_child_answers_what_it_was_asked() {
        let outcome =
            ask(&mut shell("read line; echo \"got $line\"; echo no >&2"), b"this\n", LONG, &|| false).unwrap();
        assert!(matches!(&outcome, Outcome::Answered(answer) if answer == b"got this\n"), "{outcome:?}");
    }

    #[test]
    fn a_child_that_fails_says_why() {
        let outcome = ask(&mut shell("echo because >&2; exit 3"), &[0; 1 << 20], LONG, &|| false).unwrap();
        let Outcome::Ended { status, said } = outcome else { panic!("{outcome:?}") };
        assert_eq!((status.code(), said.as_str()), (Some(3), "because"));
        let outcome = ask(&mut shell("kill -9 $$"), b"", LONG, &|| false).unwrap();
        let Outcome::Ended { status, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(status.signal(), Some(9));
        assert!(ask(&mut Command::new("/nowhere/at/all"), b"", LONG, &|| false).is_err());
    }

    #[test]
    fn a_child_is_ended_by_the_clock_and_by_whoever_asks() {
        // The child neither reads nor exits, and the request is larger than a pipe's buffer: the server must not block.
        let endless = || shell("exec sleep 600");
        let outcome = ask(&mut endless(), &[0; 1 << 20], Duration::from_millis(50), &|| false).unwrap();
        assert!(matches!(outcome, Outcome::TimeIsOver), "{outcome:?}");
        let outcome = ask(&mut endless(), &[0; 1 << 20], LONG, &|| true).unwrap();
        assert!(matches!(outcome, Outcome::Stopped), "{outcome:?}");
    }

    #[test]
    fn an_answer_without_end_is_cut_and_costs_no_memory() {
        let outcome = ask(&mut shell("yes | head -c 8000000"), b"", LONG, &|| false).unwrap();
        let Outcome::Answered(answer) = outcome else { panic!("{outcome:?}") };
        assert_eq!(answer.len() as u64, MOST_ANSWER);
    }

    #[test]
    fn the_input_of_a_child_is_open_while_it_is_waited_for() {
        let outcome = ask(&mut shell("cat >/dev/null"), b"x", Duration::from_millis(50), &|| false).unwrap();
        assert!(matches!(outcome, Outcome::TimeIsOver), "{outcome:?}");
    }
}
