//! What a transport stack gives for the trace of its flow beside the packets: their contents, keys and logs.

/// Bytes of contents that are kept at most, and of each text.
const MOST_CONTENTS: usize = 1 << 28;
const MOST_TEXT: usize = 1 << 26;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outlet {
    /// The contents of datagrams, in the order in which they were sent.
    pub contents: Vec<Content>,
    /// Lines of keys, as in `SSLKEYLOGFILE`.
    pub keys: Vec<u8>,
    /// The qlog of the sender and that of the receiver in the first connection.
    pub logs: [Vec<u8>; 2],
    /// Whether something was omitted, because it is more than is kept.
    pub full: bool,
    bytes: usize,
    logged: Option<u32>,
}

/// What a datagram carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Content {
    /// Number of its connection in the plan.
    pub connection: u32,
    /// Whether the sender sent it, or the receiver.
    pub forward: bool,
    /// Its number among the datagrams of that end.
    pub number: u64,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Outlet {
    pub(super) fn keep_content(&mut self, (connection, forward, number): (u32, bool, u64), bytes: &[u8]) {
        if self.bytes + bytes.len() > MOST_CONTENTS {
            self.full = true;
            return;
        }
        self.bytes += bytes.len();
        self.contents.push(Content { connection, forward, number, bytes: bytes.to_vec() });
    }

    pub(super) fn keep_keys(&mut self, part: &[u8]) {
        self.full |= !append(&mut self.keys, part);
    }

    pub(super) fn keep_log(&mut self, connection: u32, end: usize, part: &[u8]) {
        if *self.logged.get_or_insert(connection) == connection {
            self.full |= !append(&mut self.logs[end], part);
        }
    }
}

/// Appends a part of a text if there is room for it. After one that was omitted there is none for others, either: a text
/// with a gap says something else.
fn append(text: &mut Vec<u8>, part: &[u8]) -> bool {
    let fits = text.len() < MOST_TEXT;
    if fits {
        let part = &part[..part.len().min(MOST_TEXT - text.len())];
        text.extend_from_slice(part);
    }
    fits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_where_there_is_no_more_room() {
        let mut outlet = Outlet::default();
        let part = vec![7; 3 << 24];
        (0..2).for_each(|_| outlet.keep_keys(&part));
        assert_eq!((outlet.keys.len(), outlet.full), (MOST_TEXT, false));
        outlet.keep_keys(b"x");
        assert_eq!((outlet.keys.len(), outlet.full), (MOST_TEXT, true));
    }

    #[test]
    fn the_log_is_that_of_the_first_connection() {
        let mut outlet = Outlet::default();
        outlet.keep_log(4, 0, b"a");
        outlet.keep_log(5, 0, b"b");
        outlet.keep_log(4, 1, b"c");
        assert_eq!(outlet.logs, [b"a".to_vec(), b"c".to_vec()]);
    }
}
