//! A scenario as a tree of keys that prints as TOML in two ways: as people write it, and with every
//! value on a line of its own, so that the line of a mistake is one value.

use toml::Value;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// Text, number or switch, as written in TOML.
    Raw(String),
    /// A list; a list of tables is an array of tables.
    List(Vec<Item>),
    /// A table.
    Table(Keys),
}

/// The keys of a table, in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Keys(pub Vec<(String, Item)>);

/// One step from a table to what is in it.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// The key with that index.
    Key(usize),
    /// The entry of a list with that index.
    Entry(usize),
}

/// The path to an item from the root.
pub type KeyPath = Vec<Step>;

impl Item {
    /// A text in quotes.
    pub fn text(text: &str) -> Item {
        Item::Raw(format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
    }

    /// The text, if it is one without escapes.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Item::Raw(raw) => raw.strip_prefix('"')?.strip_suffix('"'),
            _ => None,
        }
    }

    fn is_table(&self) -> bool {
        matches!(self, Item::Table(_))
    }

    fn is_tables(&self) -> bool {
        matches!(self, Item::List(items) if !items.is_empty() && items.iter().all(Item::is_table))
    }

    fn inline(&self) -> String {
        match self {
            Item::Raw(raw) => raw.clone(),
            Item::List(items) => {
                format!("[{}]", items.iter().map(Item::inline).collect::<Vec<_>>().join(", "))
            }
            Item::Table(keys) => {
                let keys: Vec<String> = keys.0.iter().map(|(k, v)| format!("{k} = {}", v.inline())).collect();
                format!("{{ {} }}", keys.join(", "))
            }
        }
    }
}

impl Keys {
    /// The item under `key`.
    pub fn get(&self, key: &str) -> Option<&Item> {
        self.0.iter().find(|entry| entry.0 == key).map(|entry| &entry.1)
    }

    /// Sets `key` to `item`.
    pub fn set(&mut self, key: &str, item: Item) {
        match self.0.iter_mut().find(|entry| entry.0 == key) {
            Some(entry) => entry.1 = item,
            None => self.0.push((key.to_owned(), item)),
        }
    }

    /// Removes `key`.
    pub fn take(&mut self, key: &str) -> Option<Item> {
        let at = self.0.iter().position(|entry| entry.0 == key)?;
        Some(self.0.remove(at).1)
    }

    /// Reads TOML.
    ///
    /// # Errors
    /// The error of the parser.
    pub fn parse(text: &str) -> Result<Keys, String> {
        let table: toml::Table = text.parse().map_err(|error| format!("{error}"))?;
        Ok(keys(&table))
    }

    /// In the short form: one line for each key, with inline values.
    pub fn short(&self) -> String {
        let mut text = String::new();
        for (key, item) in self.0.iter().filter(|(_, item)| !item.is_table() && !item.is_tables()) {
            text += &format!("{key} = {}\n", item.inline());
        }
        for (key, item) in &self.0 {
            match item {
                Item::Table(keys) => {
                    text += &format!("[{key}]\n");
                    keys.0.iter().for_each(|(k, v)| text += &format!("{k} = {}\n", v.inline()));
                }
                Item::List(items) if item.is_tables() => {
                    for item in items {
                        let Item::Table(keys) = item else { continue };
                        text += &format!("[[{key}]]\n");
                        keys.0.iter().for_each(|(k, v)| text += &format!("{k} = {}\n", v.inline()));
                    }
                }
                _ => {}
            }
        }
        text
    }

    /// In the long form, with every value on its own line; and the path of the value of each line.
    pub fn long(&self) -> (String, Vec<KeyPath>) {
        let mut page = Page::default();
        page.table(self, "", &[]);
        (page.text, page.paths)
    }

    /// Every item below, outermost first.
    pub fn paths(&self) -> Vec<KeyPath> {
        let mut found = Vec::new();
        gather_keys(self, &mut Vec::new(), &mut found);
        found
    }

    /// The item at `path`.
    pub fn at(&self, path: &[Step]) -> Option<&Item> {
        let (Step::Key(first), rest) = path.split_first()? else { return None };
        rest.iter().try_fold(&self.0.get(*first)?.1, |item, step| match (item, step) {
            (Item::Table(keys), Step::Key(at)) => keys.0.get(*at).map(|entry| &entry.1),
            (Item::List(items), Step::Entry(at)) => items.get(*at),
            _ => None,
        })
    }

    /// The item at `path`, mutable.
    pub fn at_mut(&mut self, path: &[Step]) -> Option<&mut Item> {
        let (Step::Key(first), rest) = path.split_first()? else { return None };
        rest.iter().try_fold(&mut self.0.get_mut(*first)?.1, |item, step| match (item, step) {
            (Item::Table(keys), Step::Key(at)) => keys.0.get_mut(*at).map(|entry| &mut entry.1),
            (Item::List(items), Step::Entry(at)) => items.get_mut(*at),
            _ => None,
        })
    }

    /// The key that leads to the item at `path`, or to its list.
    pub fn key_at(&self, path: &[Step]) -> Option<&str> {
        let last = path.iter().rposition(|step| matches!(step, Step::Key(_)))?;
        let Step::Key(at) = path[last] else { return None };
        let keys = match &path[..last] {
            [] => self,
            above => match self.at(above)? {
                Item::Table(keys) => keys,
                _ => return None,
            },
        };
        keys.0.get(at).map(|entry| entry.0.as_str())
    }

    /// Removes the item at `path`.
    pub fn cut(&mut self, path: &[Step]) -> Option<()> {
        let (last, above) = path.split_last()?;
        if above.is_empty() {
            let Step::Key(at) = last else { return None };
            (*at < self.0.len()).then(|| self.0.remove(*at))?;
            return Some(());
        }
        match (self.at_mut(above)?, last) {
            (Item::Table(keys), Step::Key(at)) if *at < keys.0.len() => drop(keys.0.remove(*at)),
            (Item::List(items), Step::Entry(at)) if *at < items.len() => drop(items.remove(*at)),
            _ => return None,
        }
        Some(())
    }
}

fn keys(table: &toml::Table) -> Keys {
    Keys(table.iter().map(|(key, value)| (key.clone(), item(value))).collect())
}

fn item(value: &Value) -> Item {
    match value {
        Value::String(text) => Item::text(text),
        Value::Integer(whole) => Item::Raw(whole.to_string()),
        Value::Float(number) => Item::Raw(format!("{number:?}")),
        Value::Boolean(switch) => Item::Raw(switch.to_string()),
        Value::Datetime(date) => Item::Raw(date.to_string()),
        Value::Array(values) => Item::List(values.iter().map(item).collect()),
        Value::Table(table) => Item::Table(keys(table)),
    }
}

fn gather_keys(keys: &Keys, path: &mut KeyPath, found: &mut Vec<KeyPath>) {
    for (at, (_, item)) in keys.0.iter().enumerate() {
        path.push(Step::Key(at));
        gather(item, path, found);
        path.pop();
    }
}

fn gather(item: &Item, path: &mut KeyPath, found: &mut Vec<KeyPath>) {
    found.push(path.clone());
    match item {
        Item::Raw(_) => {}
        Item::Table(keys) => gather_keys(keys, path, found),
        Item::List(items) => {
            for (at, item) in items.iter().enumerate() {
                path.push(Step::Entry(at));
                gather(item, path, found);
                path.pop();
            }
        }
    }
}

/// The long form under construction.
#[derive(Default)]
struct Page {
    text: String,
    paths: Vec<KeyPath>,
}

impl Page {
    fn line(&mut self, line: &str, path: KeyPath) {
        self.text += line;
        self.text.push('\n');
        self.paths.push(path);
    }

    fn table(&mut self, keys: &Keys, heading: &str, path: &[Step]) {
        let below = |at: usize| path.iter().cloned().chain([Step::Key(at)]).collect::<KeyPath>();
        for (at, (key, item)) in keys.0.iter().enumerate() {
            if !item.is_table() && !item.is_tables() {
                self.line(&format!("{key} = {}", item.inline()), below(at));
            }
        }
        for (at, (key, item)) in keys.0.iter().enumerate() {
            let heading = if heading.is_empty() { key.clone() } else { format!("{heading}.{key}") };
            match item {
                Item::Table(keys) => {
                    self.line(&format!("[{heading}]"), below(at));
                    self.table(keys, &heading, &below(at));
                }
                Item::List(items) if item.is_tables() => {
                    for (entry, item) in items.iter().enumerate() {
                        let mut path = below(at);
                        path.push(Step::Entry(entry));
                        self.line(&format!("[[{heading}]]"), path.clone());
                        if let Item::Table(keys) = item {
                            self.table(keys, &heading, &path);
                        }
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "duration = \"1 s\"\n[bottleneck]\nqueue = { kind = \"red\", max_p = 0.5 }\n\
                        schedule = [{ at = \"1 s\" }, { at = \"2 s\" }]\n[[flow]]\nname = \"a\"\n[[flow]]\nname = \"b\"\n";

    #[test]
    fn both_forms_say_the_same() {
        let keys = Keys::parse(TEXT).unwrap();
        assert_eq!(keys.short(), TEXT);
        assert_eq!(Keys::parse(&keys.long().0).unwrap().short(), TEXT);
    }

    #[test]
    fn a_line_of_the_long_form_leads_to_its_value() {
        let keys = Keys::parse(TEXT).unwrap();
        let (text, paths) = keys.long();
        assert_eq!(text.lines().count(), paths.len());
        let line = text.lines().position(|line| line == "max_p = 0.5").unwrap();
        assert_eq!(keys.at(&paths[line]), Some(&Item::Raw("0.5".into())));
        assert_eq!(keys.key_at(&paths[line]), Some("max_p"));
        let mut less = keys.clone();
        less.cut(&paths[line]).unwrap();
        assert!(!less.short().contains("max_p"));
    }
}
