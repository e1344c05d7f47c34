//! What the tests share: the packet path's environment in plain memory.
#![allow(dead_code, reason = "each test uses a part")]

pub mod addresses;
pub mod environment;
pub mod memory;
