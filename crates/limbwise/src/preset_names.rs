//! Names of the presets of all schemes: one that is asked of another scheme is told so.

use crate::{bgv, bridge, params, params::ParamsError, tfhe};

/// The error for a name that is a preset of another scheme than the wanted one.
pub(crate) fn of_other_scheme(name: &str, wanted: &'static str) -> Option<ParamsError> {
    let has = |is: &'static str| match is {
        "CKKS" => params::presets::presets().iter().any(|preset| preset.name == name),
        "BGV" => bgv::presets().iter().any(|preset| preset.name == name),
        "TFHE" => tfhe::presets().iter().any(|preset| preset.name == name),
        _ => bridge::presets().is_ok_and(|all| all.iter().any(|preset| preset.name == name)),
    };
    let found = ["CKKS", "BGV", "TFHE", "the bridge"].into_iter().find(|&is| is != wanted && has(is));
    found.map(|is| ParamsError::OtherScheme { got: name.into(), is, wanted })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_of_other_schemes_are_named() {
        let told = [
            params::presets::preset("bgv-n13").map(drop).map_err(|e| e.to_string()),
            bgv::preset("2-2-p128").map(drop).map_err(|e| e.to_string()),
            tfhe::preset("bgv-n13").map(drop).map_err(|e| e.to_string()),
            bridge::preset("2-2-p64").map(drop).map_err(|e| e.to_string()),
        ];
        let wanted = [("BGV", "CKKS"), ("TFHE", "BGV"), ("BGV", "TFHE"), ("TFHE", "the bridge")];
        for (told, (is, wanted)) in told.into_iter().zip(wanted) {
            let told = told.unwrap_err();
            assert!(told.contains(&format!("is of {is}, a preset of {wanted} is wanted")), "{told}");
        }
        assert!(of_other_scheme("n13", "CKKS").is_none());
    }
}
