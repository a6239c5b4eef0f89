//! Small records in JSON with a checksum: whatever changes of them is found when they are read.
//!
//! The form is `{"version": 2, "checksum": "…", "content": {…}}`; the checksum is the BLAKE3 hash of the content as this
//! program writes it, without spaces. It finds damage and proves nothing: whoever changes the content can change it too.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

/// The version that is written. Records of version 1 had neither this form nor a checksum.
const VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sealed {
    version: u32,
    checksum: String,
    content: Value,
}

/// Why a record is refused.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    #[error("not a record of limbwise: {0}")]
    Form(#[from] serde_json::Error),
    #[error("version {0}; this program reads versions up to {VERSION}: install a newer one")]
    Version(u32),
    #[error("damaged (its checksum differs)")]
    Checksum,
}

/// The bytes of a record.
///
/// # Errors
/// Maps with keys that are no text, numbers that are not finite.
pub fn seal(content: &impl Serialize) -> Result<Vec<u8>, SealError> {
    let content = serde_json::to_value(content)?;
    let mut bytes = serde_json::to_vec_pretty(&Sealed { version: VERSION, checksum: checksum(&content)?, content })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// What a record holds; one of version 1 is the content alone.
pub fn unseal<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, SealError> {
    let value: Value = serde_json::from_slice(bytes)?;
    // A record of version 1 has other fields than these; a sealed one that lost one of them is refused by its content.
    if value.get("checksum").is_none() && value.get("content").is_none() {
        return Ok(serde_json::from_value(value)?);
    }
    let Sealed { version, checksum: written, content } = serde_json::from_value(value)?;
    if version != VERSION {
        return Err(SealError::Version(version));
    }
    if checksum(&content)? != written {
        return Err(SealError::Checksum);
    }
    Ok(serde_json::from_value(content)?)
}

fn checksum(content: &Value) -> Result<String, SealError> {
    Ok(blake3::hash(&serde_json::to_vec(content)?).to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Record {
        name: String,
        number: f64,
    }

    #[test]
    fn every_flipped_bit_is_found_or_changes_nothing() {
        let record = Record { name: "a".into(), number: 0.1 };
        let bytes = seal(&record).unwrap();
        let mut damaged = bytes.clone();
        for at in 0..bytes.len() {
            for bit in 0..8 {
                damaged[at] ^= 1 << bit;
                if let Ok(read) = unseal::<Record>(&damaged) {
                    assert_eq!(read, record, "bit {bit} of byte {at}");
                }
                damaged[at] = bytes[at];
            }
        }
        assert_eq!(unseal::<Record>(&bytes).unwrap(), record);
        assert_eq!(unseal::<Record>(br#"{"name":"a","number":0.1}"#).unwrap(), record, "version 1");
        assert!(unseal::<Record>(br#"{"name":"a","number":0.1,"more":1}"#).is_err());
    }
}
