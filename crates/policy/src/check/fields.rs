//! The fields of a match or of its `not`, each by itself.

use serde::Deserialize as _;
use serde_json::Value;
use sluice_api::Fragment;

use super::list::{each, each_text, elements};
use super::{addresses, flags, length, ports, protocol, sets};
use crate::problem::{Finding, Findings, Reason};
use crate::{Fields, FragmentPart, IcmpRange, IpVersion, TcpFlags};

/// Reads the fields of the object at `path`.
pub(super) fn check(path: &str, value: &Value, findings: &mut Findings) -> Fields {
    let source_sets = ["sourceSets", "sourceSetSelector"];
    let destination_sets = ["destinationSets", "destinationSetSelector"];
    let mut read = Reader { path, value, findings };
    Fields {
        protocol: read.one("protocol", protocol::check),
        source_ports: read.list("sourcePorts", ports::check),
        destination_ports: read.list("destinationPorts", ports::check),
        sources: read.texts("sources", addresses::check),
        destinations: read.texts("destinations", addresses::check),
        source_sets: sets::check(path, value, source_sets, read.findings),
        destination_sets: sets::check(path, value, destination_sets, read.findings),
        tcp_flags: read.tcp_flags(),
        icmp: icmp(&value["icmp"]).into_iter().collect(),
        vlan_ids: vlan_ids(&value["vlan"]["ids"]),
        ip_version: read.one("ipVersion", ip_version),
        fragment: Fragment::deserialize(&value["fragment"]).ok().map(fragment),
        length: read.one("length", length::check),
        frame: None,
    }
}

struct Reader<'a> {
    path: &'a str,
    value: &'a Value,
    findings: &'a mut Findings,
}

impl Reader<'_> {
    fn one<T>(&mut self, field: &str, read: impl Fn(&str, &Value) -> Result<T, Finding>) -> Option<T> {
        let value = Some(&self.value[field]).filter(|value| !value.is_null())?;
        self.findings.keep(read(&format!("{}.{field}", self.path), value))
    }

    fn list<T>(&mut self, field: &str, read: impl Fn(&str, &Value) -> Result<T, Finding>) -> Vec<T> {
        each(&self.value[field], &format!("{}.{field}", self.path), self.findings, read)
    }

    fn texts<T>(&mut self, field: &str, read: impl Fn(&str, &str) -> Result<T, Finding>) -> Vec<T> {
        each_text(&self.value[field], &format!("{}.{field}", self.path), self.findings, read)
    }

    fn tcp_flags(&mut self) -> Option<TcpFlags> {
        let value = Some(&self.value["tcpFlags"]).filter(|value| !value.is_null())?;
        Some(flags::check(&format!("{}.tcpFlags", self.path), value, self.findings))
    }
}

fn ip_version(path: &str, value: &Value) -> Result<IpVersion, Finding> {
    match value.as_u64() {
        Some(4) => Ok(IpVersion::V4),
        Some(6) => Ok(IpVersion::V6),
        _ => {
            let message = format!("{value} is no version of IP");
            Err(Finding::new(path, Reason::InvalidValue, message, "Write 4 or 6"))
        }
    }
}

/// The schema holds type and code to one byte, and asks for the type.
fn icmp(value: &Value) -> Option<IcmpRange> {
    let byte = |field: &str| value[field].as_u64().and_then(|number| u8::try_from(number).ok());
    let icmp_type = byte("type")?;
    Some(IcmpRange { first_type: icmp_type, last_type: icmp_type, code: byte("code") })
}

/// The schema holds each id to 12 bits.
fn vlan_ids(list: &Value) -> Vec<u16> {
    elements(list).filter_map(|(_, id)| id.as_u64().and_then(|id| u16::try_from(id).ok())).collect()
}

const fn fragment(fragment: Fragment) -> FragmentPart {
    match fragment {
        Fragment::First => FragmentPart::First,
        Fragment::Later => FragmentPart::Later,
        Fragment::Any => FragmentPart::Any,
    }
}
