//! A place for the files of loaders that want a path: one folder a process, one file a thread and name.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
    thread,
};

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("limbwise-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for files under test");
    folder
});

/// The folder of this process.
#[must_use]
pub fn folder() -> &'static Path {
    &FOLDER
}

/// Does something with a file that holds these bytes; its name ends as given.
pub fn with_file<T>(end: &str, bytes: &[u8], read: impl FnOnce(&Path) -> T) -> T {
    let thread = format!("{:?}", thread::current().id()).replace(['(', ')'], "-");
    let path = FOLDER.join(format!("{thread}{end}"));
    fs::write(&path, bytes).expect("a file under test is written");
    read(&path)
}

/// Removes the folder.
pub fn clear() {
    let _ = fs::remove_dir_all(&*FOLDER);
}
