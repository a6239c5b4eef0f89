//! Bytes that can be read at any position, by many threads at once.

use std::{fs::File, io};

/// Bytes of known length, read at positions: a file, or a slice of memory.
pub trait Source: Send + Sync {
    /// Length in bytes.
    ///
    /// # Errors
    /// Errors of the system.
    fn length(&self) -> io::Result<u64>;

    /// Fills `out` with the bytes starting at `at`.
    ///
    /// # Errors
    /// [`io::ErrorKind::UnexpectedEof`] beyond the end; errors of the system.
    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()>;
}

impl Source for [u8] {
    fn length(&self) -> io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        let rest = usize::try_from(at).ok().and_then(|at| self.get(at..));
        match rest.and_then(|rest| rest.get(..out.len())) {
            Some(bytes) => {
                out.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Source for Vec<u8> {
    fn length(&self) -> io::Result<u64> {
        self.as_slice().length()
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        self.as_slice().read_at(at, out)
    }
}

impl<S: Source + ?Sized> Source for &S {
    fn length(&self) -> io::Result<u64> {
        (**self).length()
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        (**self).read_at(at, out)
    }
}

#[cfg(unix)]
impl Source for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(self, out, at)
    }
}

#[cfg(windows)]
impl Source for File {
    fn length(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn read_at(&self, mut at: u64, mut out: &mut [u8]) -> io::Result<()> {
        while !out.is_empty() {
            let read = std::os::windows::fs::FileExt::seek_read(self, out, at)?;
            if read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            out = out.get_mut(read..).unwrap_or_default();
            at += read as u64;
        }
        Ok(())
    }
}
