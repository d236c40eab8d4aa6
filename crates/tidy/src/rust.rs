//! As much of Rust as the rules need: comments apart from code, tests apart from the rest.

use std::ops::Range;

/// A Rust file in three layers of equal length: bytes of the other layers are blanks; line ends are in all.
pub(crate) struct Layers {
    pub code: String,
    pub comments: String,
    /// String and character literals, with their quotation marks.
    pub strings: String,
}

/// Splits `text` into code, comments and literals.
pub(crate) fn layers(text: &str) -> Layers {
    let bytes = text.as_bytes();
    let (mut code, mut comments, mut strings) = (blank(bytes), blank(bytes), blank(bytes));
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let length = if rest.starts_with(b"//") {
            line_comment(rest)
        } else if rest.starts_with(b"/*") {
            block_comment(rest)
        } else if let Some(length) = quoted(bytes, at) {
            strings[at..at + length].copy_from_slice(&rest[..length]);
            at += length;
            continue;
        } else {
            code[at] = bytes[at];
            at += 1;
            continue;
        };
        comments[at..at + length].copy_from_slice(&rest[..length]);
        at += length;
    }
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Layers { code: text(&code), comments: text(&comments), strings: text(&strings) }
}

fn blank(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|&byte| if byte == b'\n' { b'\n' } else { b' ' }).collect()
}

fn line_comment(rest: &[u8]) -> usize {
    rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len())
}

fn block_comment(rest: &[u8]) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        match &rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    rest.len()
}

/// The length of the string or character that starts at `at`; `None` where none starts.
fn quoted(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = &bytes[at..];
    match rest {
        [b'"', ..] => Some(until(rest, 1, b"\"", true)),
        [b'r', b'"' | b'#', ..] if !after_word(bytes, at, 1) => raw(rest),
        [b'\'', b'\\', ..] => Some(until(rest, 1, b"'", true)),
        // 'x' and 'é' are characters, 'a is a lifetime.
        [b'\'', ..] => rest.iter().skip(2).take(4).position(|&byte| byte == b'\'').and_then(|found| {
            let inside = std::str::from_utf8(&rest[1..found + 2]).ok()?;
            (inside.chars().count() == 1).then_some(found + 3)
        }),
        _ => None,
    }
}

/// Whether the letter at `at` ends a word that is longer than it: `for"` is no raw string; `br"` is.
fn after_word(bytes: &[u8], at: usize, reach: usize) -> bool {
    at >= reach && {
        let before = bytes[at - 1];
        (before.is_ascii_alphanumeric() || before == b'_') && before != b'b' && before != b'c'
    }
}

fn raw(rest: &[u8]) -> Option<usize> {
    let hashes = rest[1..].iter().take_while(|&&byte| byte == b'#').count();
    if rest.get(1 + hashes) != Some(&b'"') {
        return None; // r#type
    }
    let end = [b"\"".as_slice(), &vec![b'#'; hashes]].concat();
    Some(until(rest, 2 + hashes, &end, false))
}

/// The length up to and with `end`, looked for from `from`; a backslash takes the next byte along.
fn until(rest: &[u8], from: usize, end: &[u8], escapes: bool) -> usize {
    let mut at = from;
    while at < rest.len() {
        if escapes && rest[at] == b'\\' {
            at += 2;
        } else if rest[at..].starts_with(end) {
            return at + end.len();
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// The items of `code` under `#[cfg(test)]`, as ranges of bytes.
pub(crate) fn test_items(code: &str) -> Vec<Range<usize>> {
    const MARK: &str = "#[cfg(test)]";
    let mut items = Vec::new();
    let mut from = 0;
    while let Some(found) = code[from..].find(MARK) {
        let start = from + found;
        from = body(code, start + MARK.len()).map_or(code.len(), |body| body.end);
        items.push(start..from);
    }
    items
}

/// `text` with the bytes of `ranges` made blank.
pub(crate) fn without(text: &str, ranges: &[Range<usize>]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for range in ranges {
        let blanks = blank(&bytes[range.clone()]);
        bytes[range.clone()].copy_from_slice(&blanks);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The number of the line that holds the byte `at`.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1
}

/// From `from` to the end of the item: its braces, or its `;` where it has none.
fn body(code: &str, from: usize) -> Option<Range<usize>> {
    let (mut braces, mut others) = (0, 0);
    for (offset, byte) in code.as_bytes()[from..].iter().enumerate() {
        match byte {
            b'{' => braces += 1,
            b'(' | b'[' => others += 1,
            b')' | b']' => others -= 1,
            b'}' => {
                braces -= 1;
                if braces == 0 && others == 0 {
                    return Some(from..from + offset + 1);
                }
            }
            b';' if braces == 0 && others == 0 => return Some(from..from + offset + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_and_comments_are_not_code() {
        let text = r##"let a = "// {"; // one {
let b = r#"} " }"#; /* two /* three */ } */ let c = '{'; let d = '\''; fn e<'a>(f: &'a u8) {}"##;
        let layers = layers(text);
        let squeezed: String = layers.code.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeezed, "let a = ; let b = ; let c = ; let d = ; fn e<'a>(f: &'a u8) {}");
        assert!(layers.comments.contains("// one {") && layers.comments.contains("two /* three */ }"));
        let squeezed: String = layers.strings.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeezed, r###""// {" r#"} " }"# '{' '\''"###);
        assert_eq!(layers.code.len(), text.len());
    }

    #[test]
    fn test_items_end_with_their_braces_or_their_semicolon() {
        let code = "a\n#[cfg(test)]\nmod tests;\nb\n#[cfg(test)]\nmod more { fn f() {} }\nc";
        let left = without(code, &test_items(code));
        assert_eq!(left.split_whitespace().collect::<Vec<_>>(), ["a", "b", "c"]);
    }
}
