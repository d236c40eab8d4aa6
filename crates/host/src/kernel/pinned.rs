//! An installed eBPF port by its pins: what is pinned, read, changed and removed.

use std::collections::BTreeMap;
use std::fs;

use fairhaul_ports::PortParameter;
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle};

use super::install_store::{InstallRecord, InstallStore};
use crate::error::{Context, Error, Result};
use crate::ports::load::Loaded;

/// Pins a loaded eBPF port, so that it stays when this process ends.
pub fn pin(loaded: Loaded, store: &InstallStore, name: &str) -> Result<()> {
    let pins = store.pins(name);
    fs::create_dir(&pins).when(pins.display())?;
    loaded.pin(&store.data(name), &store.options(name), &store.link(name))
}

/// Removes a pinned eBPF port from the kernel at once. Flows that use it keep it until they end.
pub fn unregister(store: &InstallStore, name: &str) -> Result<()> {
    for pin in [store.link(name), store.options(name)] {
        if pin.exists() {
            let link = Link::open(&pin).when(pin.display())?;
            // If another program has removed it, nothing is left to do.
            let _ = link.detach();
        }
    }
    Ok(())
}

/// The current parameters of an installed eBPF port.
pub fn parameters(store: &InstallStore, record: &InstallRecord) -> Result<BTreeMap<String, u32>> {
    if record.parameters.is_empty() {
        return Ok(BTreeMap::new());
    }
    let (_, bytes) = data(store, &record.name)?;
    let value = |offset: usize| bytes.get(offset..offset + 4).and_then(|four| four.try_into().ok());
    let read = |key: &PortParameter| Some((key.name.clone(), u32::from_ne_bytes(value(key.offset)?)));
    record.parameters.iter().map(read).collect::<Option<_>>().ok_or_else(|| {
        Error::failed(format!("{}: its parameters are not at the offsets in its record", record.name))
    })
}

/// Changes parameters of an installed eBPF port, for all its flows, at once.
pub fn set(store: &InstallStore, record: &InstallRecord, values: &BTreeMap<String, u32>) -> Result<()> {
    let (map, mut bytes) = data(store, &record.name)?;
    for key in &record.parameters {
        if let (Some(value), Some(four)) = (values.get(&key.name), bytes.get_mut(key.offset..key.offset + 4))
        {
            four.copy_from_slice(&value.to_ne_bytes());
        }
    }
    map.update(&FIRST, &bytes, MapFlags::ANY).when(&record.name)
}

/// The only key of the map of parameters.
const FIRST: [u8; 4] = [0; 4];

fn data(store: &InstallStore, name: &str) -> Result<(MapHandle, Vec<u8>)> {
    let pin = store.data(name);
    let map = MapHandle::from_pinned_path(&pin).when(pin.display())?;
    let bytes = map.lookup(&FIRST, MapFlags::ANY).when(pin.display())?;
    let bytes = bytes.ok_or_else(|| Error::failed(format!("{}: the map is empty", pin.display())))?;
    Ok((map, bytes))
}
