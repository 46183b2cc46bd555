//! A memory layer for writes over a read-only file. With it redb can open a file that cannot be
//! written.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::ops::Range;

use redb::StorageBackend;

const PAGE: usize = 4096;

/// The written pages, and the resulting length of the file.
#[derive(Debug)]
pub(super) struct WriteLayer {
    len: u64,
    pages: HashMap<u64, Box<[u8; PAGE]>>,
}

impl WriteLayer {
    /// Creates the layer over a file of `len` bytes.
    pub fn new(len: u64) -> WriteLayer {
        WriteLayer { len, pages: HashMap::new() }
    }

    pub fn len(&self) -> u64 {
        self.len
    }

    /// Sets the length. Pages beyond a shorter length are dropped, or they would reappear in a
    /// longer file. redb grows files only while it opens one.
    pub fn set_len(&mut self, len: u64) {
        self.pages.retain(|page, _| page * (PAGE as u64) < len);
        self.len = len;
    }

    pub fn read(&self, file: &dyn StorageBackend, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let end = offset + out.len() as u64;
        if end > self.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        // The part beyond the file's end is zero, unless a page covers it.
        let on_disk = file.len()?.min(end).saturating_sub(offset) as usize;
        let (from_disk, rest) = out.split_at_mut(on_disk);
        if !from_disk.is_empty() {
            file.read(offset, from_disk)?;
        }
        rest.fill(0);
        for (page, within, part) in pages(offset, out.len()) {
            if let Some(bytes) = self.pages.get(&page) {
                let len = part.len();
                out[part].copy_from_slice(&bytes[within..within + len]);
            }
        }
        Ok(())
    }

    pub fn write(&mut self, file: &dyn StorageBackend, offset: u64, data: &[u8]) -> io::Result<()> {
        for (page, within, part) in pages(offset, data.len()) {
            let bytes = match self.pages.entry(page) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(entry) => {
                    let mut bytes = Box::new([0; PAGE]);
                    let start = page * PAGE as u64;
                    let on_disk = file.len()?.saturating_sub(start).min(PAGE as u64) as usize;
                    if on_disk > 0 {
                        file.read(start, &mut bytes[..on_disk])?;
                    }
                    entry.insert(bytes)
                }
            };
            let len = part.len();
            bytes[within..within + len].copy_from_slice(&data[part]);
        }
        Ok(())
    }
}

/// Returns the pages that contain `len` bytes at `offset`: page number, offset in it, and range of
/// the bytes.
fn pages(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let within = (at % PAGE as u64) as usize;
        let from = done;
        done += (PAGE - within).min(len - from);
        (from < done).then_some((at / PAGE as u64, within, from..done))
    })
}
