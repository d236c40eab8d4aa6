//! Changes of single values in the text of a scenario, which leave its comments and its layout as they are.

use serde::Deserialize;
use serde_json::{Map, json};
use toml_edit::{DocumentMut, Item, Value};

/// A change of one value.
#[derive(Deserialize)]
pub struct Edit {
    /// Keys from the top, and the numbers of tables in lists.
    path: Vec<Step>,
    /// The new value as TOML; nothing removes the key.
    value: Option<String>,
}

/// A part of a path.
#[derive(Deserialize)]
#[serde(untagged)]
enum Step {
    /// A table of a list, such as one of the flows.
    Number(usize),
    /// A key.
    Key(String),
}

/// The text after `edits`, and its values as JSON.
pub fn edited(text: &str, edits: &[Edit]) -> Result<(String, serde_json::Value), String> {
    let mut document: DocumentMut = text.parse().map_err(|error| format!("not TOML: {error}"))?;
    for edit in edits {
        let value = edit.value.as_deref().map(str::parse::<Value>).transpose();
        let value = value.map_err(|error| format!("not a value of TOML: {error}"))?;
        apply(document.as_item_mut(), &edit.path, value)?;
    }
    let values = as_json(document.as_item());
    Ok((document.to_string(), values))
}

fn apply(item: &mut Item, path: &[Step], value: Option<Value>) -> Result<(), String> {
    let [first, rest @ ..] = path else {
        return Err("a path has at least one key".to_owned());
    };
    match first {
        Step::Key(key) => {
            let table = item.as_table_like_mut().ok_or_else(|| format!("{key:?} is in no table"))?;
            if let [_, ..] = rest {
                let inner = table.get_mut(key).ok_or_else(|| format!("there is no {key:?}"))?;
                return apply(inner, rest, value);
            }
            set(table, key, value);
            Ok(())
        }
        Step::Number(number) => {
            let tables = item.as_array_of_tables_mut().ok_or("a number is for a list of tables")?;
            if rest.is_empty() {
                tables.remove(*number);
                return Ok(());
            }
            let table = tables.get_mut(*number).ok_or_else(|| format!("there is no table {number}"))?;
            let mut inner = Item::Table(std::mem::take(table));
            let done = apply(&mut inner, rest, value);
            *table = inner.into_table().map_err(|_| "a table stays a table")?;
            done
        }
    }
}

/// The new value keeps the comment behind the old one.
fn set(table: &mut dyn toml_edit::TableLike, key: &str, value: Option<Value>) {
    let Some(mut value) = value else {
        table.remove(key);
        return;
    };
    if let Some(old) = table.get(key).and_then(Item::as_value) {
        *value.decor_mut() = old.decor().clone();
    }
    match table.get_mut(key) {
        Some(item) => *item = Item::Value(value),
        None => drop(table.insert(key, Item::Value(value))),
    }
}

fn as_json(item: &Item) -> serde_json::Value {
    if let Some(table) = item.as_table_like() {
        return table.iter().map(|(key, item)| (key.to_owned(), as_json(item))).collect::<Map<_, _>>().into();
    }
    if let Some(tables) = item.as_array_of_tables() {
        return tables.iter().map(|table| as_json(&Item::Table(table.clone()))).collect();
    }
    match item.as_value() {
        Some(Value::String(text)) => json!(text.value()),
        Some(Value::Integer(number)) => json!(number.value()),
        Some(Value::Float(number)) => json!(number.value()),
        Some(Value::Boolean(flag)) => json!(flag.value()),
        Some(Value::Array(values)) => {
            values.iter().map(|value| as_json(&Item::Value(value.clone()))).collect()
        }
        _ => serde_json::Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# A comment.\nduration = \"9 s\" # long\n\n[[flow]]\nname = \"a\"\n\n[[flow]]\nname = \"b\"\n";

    fn edit(path: &str, value: Option<&str>) -> Edit {
        Edit { path: serde_json::from_str(path).unwrap(), value: value.map(str::to_owned) }
    }

    #[test]
    fn a_value_changes_and_comments_stay() {
        let edits = [edit(r#"["duration"]"#, Some("\"3 s\"")), edit(r#"["flow", 1, "count"]"#, Some("2"))];
        let (text, values) = edited(TEXT, &edits).unwrap();
        assert!(text.starts_with("# A comment.\nduration = \"3 s\" # long\n"), "{text}");
        assert!(text.ends_with("name = \"b\"\ncount = 2\n"), "{text}");
        assert_eq!(values["flow"][1]["count"], 2);
    }

    #[test]
    fn a_table_of_a_list_is_removed() {
        let (_, values) = edited(TEXT, &[edit(r#"["flow", 0]"#, None)]).unwrap();
        assert_eq!(values["flow"], json!([{ "name": "b" }]));
    }

    #[test]
    fn a_path_that_leads_nowhere_is_an_error() {
        assert!(edited(TEXT, &[edit(r#"["flow", 7, "name"]"#, Some("1"))]).is_err());
        assert!(edited(TEXT, &[edit(r#"["link", "rate"]"#, Some("1"))]).is_err());
        assert!(edited(TEXT, &[edit(r#"["duration"]"#, Some("3 s"))]).is_err());
    }
}
