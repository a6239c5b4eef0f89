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
    /// In order, with this on its standard output.
    Answered(Vec<u8>),
    /// It was stopped because nobody wants the answer.
    Stopped,
    /// It was ended at the end of its time.
    TimeIsOver,
    /// By itself or by the system, without an answer.
    Ended {
        status: ExitStatus,
        /// The beginning of what it wrote to standard error.
        said: String,
    },
}

/// Longest answer that is read: a child computes on what comes from outside.
const MOST_ANSWER: u64 = 1 << 20;
/// Most that is kept of its standard error.
const MOST_SAID: u64 = 4096;
/// Between two looks at a child.
const PAUSE: Duration = Duration::from_millis(10);

/// Starts a child, gives it a request on its standard input, and waits for its end, which comes at the latest when its
/// time is over or soon after `stopped` says so. The input stays open until then, so that a child sees from its end that
/// nobody waits for it any more, however the server ended.
pub fn ask(command: &mut Command, request: &[u8], time: Duration, stopped: &dyn Fn() -> bool) -> io::Result<Outcome> {
    // What a terminal sends to the server, such as Ctrl-C, is not for its children: the server ends them in order.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut child = Ending(spawned);
    let (input, output, errors) = (child.0.stdin.take(), child.0.stdout.take(), child.0.stderr.take());
    let (done, until_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        // On threads of their own: a child that reads or writes nothing must not hold up who looks at the clock.
        scope.spawn(move || {
            // A child that ended early does not read; what it wrote says why.
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

/// A child that does not outlive whoever waits for it.
struct Ending(Child);

impl Ending {
    /// Waits until it ends; none if it must be ended.
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

/// The first bytes of what is read; the rest is read too, so that nobody waits for it to be taken.
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
        // Neither reads nor ends; a request longer than a pipe holds nobody up.
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
