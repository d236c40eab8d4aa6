//! As much of Python as the rules need: comments and strings, functions.

/// A function: its name, the line on which it starts, how many lines it has.
pub(crate) struct Function {
    pub name: String,
    pub line: usize,
    pub lines: usize,
}

/// `text` with strings made blank; comments too unless `keep_comments`, and then nothing else stays.
pub(crate) fn layer(text: &str, keep_comments: bool) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, keep) = match first {
            '#' => (rest.find('\n').unwrap_or(rest.len()), keep_comments),
            '"' | '\'' => (string(rest, first), false),
            _ => (first.len_utf8(), !keep_comments),
        };
        let (piece, after) = rest.split_at(length);
        let kept = |c: char| if keep || c == '\n' { c } else { ' ' };
        out.extend(piece.chars().map(kept));
        rest = after;
    }
    out
}

/// `text` with all but its strings made blank; strings with nothing but space between them are one, and
/// quotation marks stand between all others.
pub(crate) fn strings(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => string(rest, first),
            _ => first.len_utf8(),
        };
        let (piece, after) = rest.split_at(length);
        match first {
            '"' | '\'' => out.push_str(&unquoted(piece)),
            '\n' => out.push('\n'),
            c if c.is_whitespace() => out.push(' '),
            // The letter before a string, as in f"…", is part of it.
            c if "rRfFbBuU".contains(c) && after.starts_with(['"', '\'']) => out.push(' '),
            '#' => out.push(' '),
            _ => out.push('"'),
        }
        rest = after;
    }
    out
}

/// A string without the quotation marks at its ends.
fn unquoted(string: &str) -> String {
    string.trim_matches(['"', '\'']).into()
}

/// The length of the string at the start of `rest`.
fn string(rest: &str, quote: char) -> usize {
    let triple = quote.to_string().repeat(3);
    let (end, open) = if rest.starts_with(&triple) { (triple.as_str(), 3) } else { (&rest[..1], 1) };
    let mut at = open;
    while at < rest.len() {
        let here = &rest[at..];
        if here.starts_with(end) {
            return at + end.len();
        }
        let mut chars = here.chars();
        let skipped = if here.starts_with('\\') { 2 } else { 1 };
        at += chars.by_ref().take(skipped).map(char::len_utf8).sum::<usize>();
    }
    rest.len()
}

/// The functions of `code` (strings and comments blank), methods and inner ones included.
pub(crate) fn functions(code: &str) -> Vec<Function> {
    let lines: Vec<&str> = code.lines().collect();
    let starts = lines.iter().enumerate().filter_map(|(index, line)| {
        let head = line.trim_start();
        let head = head.strip_prefix("async ").unwrap_or(head);
        let name = head.strip_prefix("def ")?.split('(').next()?;
        Some((index, name.trim().to_string()))
    });
    starts
        .map(|(start, name)| {
            let end = end_of(&lines, start);
            Function { name, line: start + 1, lines: end - start + 1 }
        })
        .collect()
}

/// The last line of the function that starts at `start`.
fn end_of(lines: &[&str], start: usize) -> usize {
    let own = indent(lines[start]);
    let body = signature_end(lines, start) + 1;
    let inside = |line: &str| line.trim().is_empty() || indent(line) > own;
    let after = lines.iter().skip(body).position(|line| !inside(line)).map_or(lines.len(), |n| body + n);
    (start..after).rev().find(|&line| !lines[line].trim().is_empty()).unwrap_or(start)
}

/// The line with the last bracket of the signature.
fn signature_end(lines: &[&str], start: usize) -> usize {
    let mut open = 0;
    for (index, line) in lines.iter().enumerate().skip(start) {
        open += line.matches(['(', '[', '{']).count();
        open -= line.matches([')', ']', '}']).count().min(open);
        if open == 0 {
            return index;
        }
    }
    start
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "def a(\n    b,\n) -> int:\n    \"\"\"One\ndef no(): # not\n\"\"\"\n    return 1  # [RFC 1]\n\n\nc = 'def'\n";

    #[test]
    fn a_function_ends_with_its_last_indented_line() {
        let found = functions(&layer(TEXT, false));
        let short: Vec<(&str, usize, usize)> = found.iter().map(|f| (&*f.name, f.line, f.lines)).collect();
        assert_eq!(short, [("a", 1, 7)]);
    }

    #[test]
    fn only_comments_are_kept_on_request() {
        assert_eq!(layer(TEXT, true).trim(), "# [RFC 1]");
    }
}
