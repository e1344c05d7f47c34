//! The TC program that applies the marks of an interface: there before a program that marks comes into force, and
//! gone after it.

use sluice_dataplane::{Error, bpffs::PinFolder, marks::Marks};

/// What is known of the TC program of one interface.
#[derive(Debug, Default)]
pub struct Marking {
    attached: Option<Marks>,
    /// Whether something may be there of which nothing is known.
    in_doubt: bool,
}

impl Marking {
    /// An earlier run may have left something, or an attempt that failed.
    pub fn in_doubt() -> Self {
        Self { attached: None, in_doubt: true }
    }

    /// Attaches the program, or takes over what is attached.
    pub fn ensure(&mut self, pins: &PinFolder, ifindex: u32) -> Result<(), Error> {
        *self = Self::in_doubt();
        self.attached = Some(Marks::ensure(pins, ifindex)?);
        self.in_doubt = false;
        Ok(())
    }

    /// Takes off what is there. No program that marks may be in force any more.
    pub fn remove(&mut self, pins: &PinFolder, ifindex: u32) -> Result<(), Error> {
        if (self.in_doubt || self.attached.is_some())
            && let Some(marks) = Marks::adopt(pins, ifindex)?
        {
            marks.remove()?;
        }
        *self = Self::default();
        Ok(())
    }

    /// Takes off what this process has attached, where all pins of the interface go.
    pub fn take_off(&mut self) -> Result<(), Error> {
        if let Some(marks) = &self.attached {
            marks.remove()?;
        }
        *self = Self::default();
        Ok(())
    }

    /// Asks the kernel: no event tells that somebody has taken it off.
    pub fn look(&mut self) -> Result<(), Error> {
        if let Some(marks) = &self.attached
            && !marks.is_attached()?
        {
            *self = Self::in_doubt();
        }
        Ok(())
    }

    /// Whether it is attached, as far as is known.
    pub fn is_attached(&self) -> bool {
        self.attached.is_some()
    }
}
