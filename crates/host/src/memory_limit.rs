//! The memory that this program may take while it reads what others wrote: it may run as root, and a machine without
//! memory harms everyone.
//!
//! The programs that it starts, such as a kernel in a process, are not limited: the limit has ended by then.

use nix::sys::resource::{Resource, getrlimit, rlim_t, setrlimit};

/// Address space, bytes; an installation takes some 100 MB, with the type information of the kernel and the buffers of
/// its probes.
const MOST_BYTES: rlim_t = 2 << 30;

/// The limit, as long as it lives. A process that exceeds it ends at once.
#[derive(Debug)]
pub struct MemoryLimit {
    before: Option<(rlim_t, rlim_t)>,
}

impl MemoryLimit {
    /// Limits the address space, unless it is limited to less already.
    pub fn begin() -> MemoryLimit {
        let before = getrlimit(Resource::RLIMIT_AS).ok().filter(|(soft, _)| *soft > MOST_BYTES);
        let set = before.filter(|(_, hard)| setrlimit(Resource::RLIMIT_AS, MOST_BYTES, *hard).is_ok());
        MemoryLimit { before: set }
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        if let Some((soft, hard)) = self.before {
            // It was allowed before.
            let _ = setrlimit(Resource::RLIMIT_AS, soft, hard);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_ends_with_its_guard() {
        let soft = || getrlimit(Resource::RLIMIT_AS).expect("it can be asked for").0;
        let before = soft();
        let limit = MemoryLimit::begin();
        assert!(soft() <= MOST_BYTES);
        drop(limit);
        assert_eq!(soft(), before);
    }
}
