//! Weights that lie beside a model, in files of their own: PyTorch's exporter writes them so.

use super::{ImportError, MOST_BYTES};
use crate::{data::DataError, onnx};
use std::{
    io::{Read, Seek, SeekFrom},
    path::{Component, Path},
};

/// Reads the numbers of all tensors that lie elsewhere: in files below the model's folder, never outside of it.
pub(super) fn fetch(model: &mut onnx::Model, folder: &Path) -> Result<(), ImportError> {
    let mut left = MOST_BYTES;
    for tensor in model.graph.iter_mut().flat_map(|graph| &mut graph.initializers) {
        let Some((location, offset, length)) = tensor.elsewhere() else { continue };
        let wrong = |got: String, wanted| ImportError::File { path: location.into(), got, wanted };
        let path = Path::new(location);
        if location.is_empty() || !path.components().all(|part| matches!(part, Component::Normal(_))) {
            let got = format!("the place of the weights {}", tensor.name);
            return Err(wrong(got, "a file in the folder of the model or below it"));
        }
        let path = folder.join(path);
        let (mut file, size) = crate::data::dataset::open_plain(&path)?;
        let (Some(offset), Some(length)) = (offset, length) else {
            return Err(wrong(format!("offset or length of the weights {}", tensor.name), "whole numbers"));
        };
        let length = if length == 0 { size.saturating_sub(offset) } else { length };
        if offset.checked_add(length).is_none_or(|end| end > size) || length > left {
            let got = format!("{length} bytes from {offset} for the weights {}, of {size}", tensor.name);
            return Err(wrong(got, "bytes that are there, at most 1 GiB in all"));
        }
        left -= length;
        let mut raw = Vec::new();
        let read = file.seek(SeekFrom::Start(offset)).and_then(|_| file.take(length).read_to_end(&mut raw));
        read.map_err(|source| DataError::Io { path, source })?;
        (tensor.raw, tensor.place) = (raw, 0);
    }
    Ok(())
}
