//! Attaching where nothing of ours runs yet: the modes in their order, each by name, and what the
//! interface answered. The mode that is then in force is read back from the kernel.

use rustix::io::Errno;
use sluice_dataplane::{
    AttachMode, Error,
    attachment::{Attachment, Revision},
    bpffs::PinFolder,
    instance::Compiled,
    links::Link,
    program_name,
};
use sluice_policy::{Bindings, InterfacePlan, LinkFacts, attach};

use crate::{address_sets::Binding, facts, marking::Marking};

/// Answers that may be another one in a moment, though no fact of the link has changed.
const TRANSIENT: [Errno; 8] = [
    Errno::BUSY,
    Errno::EXIST,
    Errno::NOMEM,
    Errno::NODEV,
    Errno::AGAIN,
    Errno::NETDOWN,
    Errno::INTR,
    Errno::IO,
];

/// What came of the attempts.
pub enum Attempted {
    /// The program runs.
    Attached {
        /// The link and what it runs.
        attachment: Attachment,
        /// Why a better mode was refused.
        refused: Option<Refused>,
    },
    /// No mode that was asked for is to be had.
    Refused(Option<Refused>),
}

/// A refusal.
#[derive(Clone, Debug)]
pub struct Refused {
    /// Why, in words.
    pub refusal: attach::Refusal,
    /// Whether it is worth asking again though nothing is known to have changed.
    pub transient: bool,
}

/// Tries the modes that `plan` asks for.
pub fn attempt(
    pins: &PinFolder,
    marking: &mut Marking,
    plan: &InterfacePlan,
    binding: &Binding,
    facts: &LinkFacts,
) -> Result<Attempted, Error> {
    let attempts = attach::attempts(plan.mode, facts);
    let certain = |refusal| Refused { refusal, transient: false };
    let mut better = attempts.skipped.into_iter().next_back().map(certain);
    for mode in attempts.order.into_iter().map(facts::to_attach) {
        if plan.needs_marks() {
            // Each time, since a refused attempt leaves nothing behind.
            marking.ensure(pins, plan.ifindex)?;
        }
        let created =
            with_revision(plan, binding, |revision| Attachment::create(pins, plan.ifindex, mode, revision));
        match created {
            Ok(attachment) => return Ok(Attempted::Attached { attachment, refused: better }),
            Err(error) => better = Some(refused(&error, mode, facts).ok_or(error)?),
        }
    }
    marking.remove(pins, plan.ifindex)?;
    Ok(Attempted::Refused(better))
}

/// What the interface meant by refusing `mode`; `None` if it was not the interface that refused.
pub fn refused(error: &Error, mode: AttachMode, facts: &LinkFacts) -> Option<Refused> {
    let errno = error.attach_errno()?;
    let transient = TRANSIENT.contains(&Errno::from_raw_os_error(errno));
    Some(Refused { refusal: attach::refusal(errno, facts::to_policy(mode), facts), transient })
}

/// Hands `plan` to the data plane.
pub fn with_revision<T>(plan: &InterfacePlan, binding: &Binding, act: impl FnOnce(&Revision<'_>) -> T) -> T {
    let names = plan.counter_names();
    let compiled = |slots: &[u16]| {
        let slots = names.iter().cloned().zip(slots.iter().copied()).collect();
        let compiled = plan.compiled(&Bindings { slots, lists: binding.lists.clone() });
        let compiled = compiled.map_err(|refused| format!("more than {} {}", refused.most, refused.what))?;
        Ok(Compiled { tables: compiled.tables, prefixes: compiled.prefixes })
    };
    act(&Revision {
        digest: &plan.digest(),
        rules: &names,
        compiled: &compiled,
        sources: plan.sources(),
        live: binding.live.as_deref(),
    })
}

/// A program of somebody else on the interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The kernel's id of it.
    pub id: u32,
    /// Its name, if the kernel tells.
    pub name: String,
    /// Native, Generic or Offload.
    pub mode: String,
}

impl Foreign {
    /// The program on `link`, on which nothing of ours runs.
    pub fn on(link: &Link) -> Option<Self> {
        let program = link.xdp.as_ref()?.programs.first()?;
        Some(Self {
            id: program.program_id,
            name: program_name(program.program_id).unwrap_or_default(),
            mode: format!("{:?}", program.mode),
        })
    }

    /// Why we do not attach.
    pub fn refusal(&self, interface: &str) -> Refused {
        let name = if self.name.is_empty() { String::new() } else { format!(" ({})", self.name) };
        let refusal = attach::Refusal {
            reason: "ForeignProgram",
            message: format!(
                "{interface} has the XDP program {}{name} of somebody else, which is left alone.",
                self.id
            ),
            remedy: Some("Remove it with the tool that attached it.".to_owned()),
        };
        Refused { refusal, transient: true }
    }
}
