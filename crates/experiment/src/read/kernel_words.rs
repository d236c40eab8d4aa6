//! Reads the values that a kernel understands and no engine of ours: a queue discipline as `tc` takes it, settings by
//! their names, and command lines of programs. Whether a kernel has them is for that kernel to say.

use std::collections::BTreeMap;

use super::field::Accepts;
use super::mistake::clip;
use super::toml_tree::{Node, TomlValue};

/// The longest text that is passed on, characters: `tc` needs a fraction of it.
const LONGEST: usize = 256;
/// The most settings of one host.
const MOST_SYSCTLS: usize = 100;

/// The most words of a command line, and the longest word, characters.
const MOST_WORDS: usize = 100;
const LONGEST_WORD: usize = 4096;

/// A program and its arguments: a text is split at white space.
pub(super) fn command_line(node: &Node) -> Option<Result<Vec<String>, String>> {
    let words: Vec<String> = match &node.value {
        TomlValue::Text(text) => text.split_whitespace().map(str::to_owned).collect(),
        TomlValue::List(nodes) => {
            nodes.iter().map(|node| node.text().map(str::to_owned)).collect::<Option<_>>()?
        }
        _ => return None,
    };
    let fits = |word: &String| word.len() <= LONGEST_WORD && !word.contains('\0');
    let is_line = words.first().is_some_and(|first| !first.is_empty());
    Some(if is_line && words.len() <= MOST_WORDS && words.iter().all(fits) {
        Ok(words)
    } else {
        Err(format!(
            "{} is no command line; wanted {}",
            clip(&node.to_string()),
            Accepts::CommandLine.wanted()
        ))
    })
}

/// A queue discipline: its name, and its options.
pub(super) fn qdisc(text: &str) -> Result<String, String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let is_name = |word: &&str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let is_option = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:/%+".contains(c));
    let fits = text.len() <= LONGEST && words.first().is_some_and(is_name) && words.iter().all(is_option);
    if fits {
        Ok(words.join(" "))
    } else {
        Err(format!("\"{}\" is not a queue discipline; wanted {}", clip(text), Accepts::Qdisc.wanted()))
    }
}

/// Settings and their values; `None` if it is no table. A name with dots is one key, or tables within each other, which
/// is what paths of keys make; of two values for one name the last holds.
pub(super) fn sysctls(node: &Node) -> Option<Result<BTreeMap<String, String>, String>> {
    let TomlValue::Table(_) = node.value else { return None };
    let mut settings = BTreeMap::new();
    Some(gather("", node, &mut settings).and_then(|()| match settings.len() {
        0 => Err("the table is empty".into()),
        count if count > MOST_SYSCTLS => {
            Err(format!("{count} settings are too many; at most {MOST_SYSCTLS}"))
        }
        _ => Ok(settings),
    }))
}

fn gather(above: &str, node: &Node, settings: &mut BTreeMap<String, String>) -> Result<(), String> {
    let value = match &node.value {
        TomlValue::Table(entries) => {
            let name = |key: &str| if above.is_empty() { key.to_owned() } else { format!("{above}.{key}") };
            return entries.iter().try_for_each(|entry| gather(&name(&entry.key), &entry.node, settings));
        }
        TomlValue::Text(text) => text.trim().to_owned(),
        TomlValue::Whole(whole) => whole.to_string(),
        _ => {
            return Err(format!(
                "wanted a string or a whole number for \"{}\", not {}",
                clip(above),
                clip(&node.to_string())
            ));
        }
    };
    name_fits(above)?;
    if value.is_empty() || value.len() > LONGEST || !value.chars().all(|c| c == ' ' || c.is_ascii_graphic()) {
        return Err(format!("\"{}\" is not a value of \"{}\"", clip(&value), clip(above)));
    }
    settings.insert(above.to_owned(), value);
    Ok(())
}

/// A host is a network namespace, whose settings all begin with `net`.
fn name_fits(name: &str) -> Result<(), String> {
    let parts: Vec<&str> = name.split('.').collect();
    let is_word =
        |part: &&str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    if parts.len() >= 3 && parts[0] == "net" && parts.iter().all(is_word) && name.len() <= LONGEST {
        return Ok(());
    }
    Err(format!("\"{}\" is not a setting of a host; wanted e.g. \"net.ipv4.tcp_rmem\"", clip(name)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::mistake::SourceSpan;
    use crate::read::toml_tree::fragment;

    #[test]
    fn a_queue_discipline_is_a_name_and_options_without_the_letters_of_a_shell() {
        assert_eq!(qdisc("fq"), Ok("fq".into()));
        assert_eq!(qdisc(" cake  bandwidth 50mbit "), Ok("cake bandwidth 50mbit".into()));
        assert_eq!(
            qdisc("netem slot distribution pareto 1ms 0.5%"),
            Ok("netem slot distribution pareto 1ms 0.5%".into())
        );
        for wrong in
            ["", " ", "-batch", "50mbit", "fq; reboot", "fq $(x)", "FQ", "fq \u{e9}", &"a".repeat(257)]
        {
            assert!(qdisc(wrong).is_err(), "{wrong}");
        }
    }

    fn read(text: &str) -> Option<Result<Vec<(String, String)>, String>> {
        let pairs = sysctls(&fragment(text, SourceSpan::Line(1)))?;
        Some(pairs.map(|pairs| pairs.into_iter().collect()))
    }

    #[test]
    fn a_setting_is_one_key_or_tables_within_each_other() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let both = "{ \"net.ipv4.tcp_rmem\" = \"4096 131072 6291456\", net.ipv4.tcp_ecn = 1 }";
        let expected = vec![pair("net.ipv4.tcp_ecn", "1"), pair("net.ipv4.tcp_rmem", "4096 131072 6291456")];
        assert_eq!(read(both), Some(Ok(expected)));
        let twice = "{ \"net.ipv4.tcp_ecn\" = 1, net.ipv4.tcp_ecn = 2 }";
        assert!(read(twice).is_some_and(|read| read.is_ok_and(|pairs| pairs.len() == 1)));
    }

    #[test]
    fn settings_that_are_not_of_a_host_are_refused() {
        assert_eq!(read("1"), None);
        for wrong in [
            "{}",
            "{ \"kernel.panic\" = 1 }",
            "{ net.x = 1 }",
            "{ \"net.ipv4..x\" = 1 }",
            "{ \"net.ipv4.../x\" = 1 }",
            "{ \"net.ipv4.tcp_ecn\" = \"\" }",
            "{ \"net.ipv4.tcp_ecn\" = true }",
            "{ \"net.ipv4.tcp_ecn\" = \"1\\n2\" }",
        ] {
            assert!(read(wrong).is_some_and(|read| read.is_err()), "{wrong}");
        }
    }
}
