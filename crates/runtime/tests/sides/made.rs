//! Keys come into both directories together, or not at all.

use crate::{
    both::{Case, Folder, device},
    cases,
};
use limbwise::{scheme::Tfhe, wire::Lock};
use limbwise_apps::{Client, Observer, Program};
use limbwise_math::sampling::SeedSource;
use limbwise_runtime::{
    Error,
    keygen::{KeyOrder, Sides, keygen},
    places::{BOOTSTRAP, DATA, Existing, PARAMS, PROGRAM, TFHE_SECRET},
    record::record,
};
use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

/// Where files stand until all are there.
const HIDDEN: &str = ".unfinished";

fn made<C: Client<Scheme = Tfhe>>(
    case: &Case<impl Program<Scheme = Tfhe>, C>,
    sides: Sides<'_>,
    existing: Existing,
    observer: &mut dyn Observer,
) -> Result<u64, Error> {
    let recording = record(&case.program, limbwise::rlwe::KeyForm::Stored, &limbwise_cpu::footprint()).unwrap();
    let (params, description) = (case.program.params(), &case.description);
    let (required, seeds) = (&recording.keys.required, &SeedSource::System);
    let order = KeyOrder { params, description, required, lock: Lock::None, seeds, data: b"data", existing };
    keygen::<Tfhe, _>(&device(), sides, &order, observer)
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = entries.collect();
    names.sort();
    names
}

/// Fails when keys were written.
struct Ends;

impl Observer for Ends {
    fn step(&mut self, _: &str, done: usize, total: usize) {
        assert!(done < total, "the end of a process");
    }
}

#[test]
fn all_keys_or_none() {
    let (folder, case) = (Folder::new("made"), cases::pbs(2));
    let [client, server] = ["client", "server"].map(|name| folder.at(name));
    let sides = Sides { client: &client, server: &server };
    let ended = catch_unwind(AssertUnwindSafe(|| made(&case, sides, Existing::Kept, &mut Ends)));
    assert!(ended.is_err() && !client.exists() && !server.exists());
    // What a kill leaves: files of both sides in their hidden places.
    for dir in [&client, &server] {
        fs::create_dir_all(dir.join(HIDDEN)).unwrap();
        fs::write(dir.join(HIDDEN).join(TFHE_SECRET), "half of a key").unwrap();
    }
    made(&case, sides, Existing::Kept, &mut ()).unwrap();
    assert_eq!(names(&client), [DATA, PROGRAM, TFHE_SECRET]);
    assert_eq!(names(&server), [BOOTSTRAP, PARAMS, PROGRAM]);
    let key = fs::read(client.join(TFHE_SECRET)).unwrap();
    let refused = made(&case, sides, Existing::Kept, &mut ()).unwrap_err();
    assert!(matches!(refused, Error::Exists { .. }), "{refused}");
    // Keys that are there stay until others are whole.
    let ended = catch_unwind(AssertUnwindSafe(|| made(&case, sides, Existing::Replaced, &mut Ends)));
    assert!(ended.is_err() && fs::read(client.join(TFHE_SECRET)).unwrap() == key);
    fs::write(client.join("secret.key"), "of a program of CKKS").unwrap();
    made(&case, sides, Existing::Replaced, &mut ()).unwrap();
    assert_eq!(names(&client), [DATA, PROGRAM, TFHE_SECRET], "another program's key is gone as well");
    assert!(fs::read(client.join(TFHE_SECRET)).unwrap() != key);
}

/// Whoever is given the server's directory must not find the secret key in it, whatever links lead there.
#[test]
#[cfg(unix)]
fn the_secret_lies_outside_of_the_servers_directory() {
    let (folder, case) = (Folder::new("apart"), cases::pbs(2));
    let [real, link] = ["real", "link"].map(|name| folder.at(name));
    fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    for (client, server) in [("both", "both"), ("server/client", "server"), ("client/..", "")] {
        let (client, server) = (real.join(client), link.join(server));
        let refused = made(&case, Sides { client: &client, server: &server }, Existing::Replaced, &mut ()).unwrap_err();
        assert!(matches!(refused, Error::OneSide { .. }), "{refused}");
        assert_eq!(names(&real), [""; 0]);
    }
    let (client, server) = (real.join("client"), link.join("client/server"));
    made(&case, Sides { client: &client, server: &server }, Existing::Kept, &mut ()).unwrap();
}

/// Keys that no description speaks of are never replaced in silence.
#[test]
fn keys_without_a_description() {
    let (folder, case) = (Folder::new("lone"), cases::pbs(2));
    let [client, server] = ["client", "server"].map(|name| folder.at(name));
    let sides = Sides { client: &client, server: &server };
    fs::create_dir_all(&client).unwrap();
    fs::write(client.join(TFHE_SECRET), "a key").unwrap();
    let refused = made(&case, sides, Existing::Kept, &mut ()).unwrap_err();
    assert!(matches!(refused, Error::Unfinished { .. }) && refused.to_string().contains("--force"), "{refused}");
    assert_eq!((fs::read(client.join(TFHE_SECRET)).unwrap(), server.exists()), (b"a key".to_vec(), false));
    made(&case, sides, Existing::Replaced, &mut ()).unwrap();
    assert_eq!(names(&client), [DATA, PROGRAM, TFHE_SECRET]);
}
