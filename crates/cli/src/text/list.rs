//! The text of what there is.

use super::{machines, params, table::line};
use crate::verbs::list::{Device, Everything};

pub(crate) fn render(all: &Everything) -> String {
    let mut text = String::from("workloads\n");
    for workload in &all.workloads {
        text += &line(&workload.name, &workload.about);
    }
    text += "\npresets\n";
    text += &params::sets(&all.presets);
    text += "\n";
    text += &params::tfhe_sets(&all.tfhe_presets);
    text += "\n";
    text += &params::bgv_sets(&all.bgv_presets);
    text += "\nmachines\n";
    text += &machines::list(&all.machines);
    text += "\ndevices\n";
    all.devices.iter().for_each(|device| text += &line(device.name, &computing(device)));
    text
}

fn computing(device: &Device) -> String {
    if let Some(why) = &device.absent {
        return format!("not here: {why}");
    }
    let isas = device.isas.iter().map(|isa| match isa.available {
        true => isa.name.to_owned(),
        false => format!("{} (not on this CPU)", isa.name),
    });
    format!("{} threads; instruction sets: {}", device.threads, isas.collect::<Vec<_>>().join(", "))
}
