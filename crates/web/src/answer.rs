//! An answer: the length of a JSON text in 4 bytes, the text, and behind it the columns that it describes.
//!
//! Numbers are in the byte order of WebAssembly, which is little-endian. Every column begins at a multiple of 8 bytes, so that a page
//! can use it in place. The text of an answer with tables has `tables`, in their order: each with its `name`, the
//! number of its `rows`, and its `columns`, each with its `name`, `type` and `at`, the place of its first byte.

use fairhaul_experiment::{Column, Table, Values};
use serde_json::{Value, json};

const ALIGNMENT: usize = 8;
/// The length of the text, before it.
const PREFIX: usize = 4;

/// An answer while it is gathered.
#[derive(Default)]
pub struct Answer {
    text: Value,
    columns: Vec<u8>,
}

impl Answer {
    /// An answer without tables.
    pub fn of(text: Value) -> Answer {
        Answer { text, columns: Vec::new() }
    }

    /// The input was wrong; all mistakes, one line each.
    pub fn mistakes(lines: &[String]) -> Answer {
        Answer::of(json!({ "mistakes": lines }))
    }

    /// The run failed.
    pub fn failure(why: &str) -> Answer {
        Answer::of(json!({ "failure": why }))
    }

    /// The same text, with tables.
    pub fn with_tables(mut self, tables: impl Iterator<Item = Table>) -> Answer {
        let described: Vec<Value> = tables.map(|table| self.table(table)).collect();
        self.text["tables"] = described.into();
        self
    }

    /// The bytes that leave the module.
    pub fn into_bytes(self) -> Vec<u8> {
        let mut text = self.text.to_string().into_bytes();
        // Spaces after the text, so that the columns keep their alignment.
        text.resize((PREFIX + text.len()).next_multiple_of(ALIGNMENT) - PREFIX, b' ');
        let length = u32::try_from(text.len()).expect("the module has 32-bit addresses");
        [&length.to_le_bytes()[..], &text, &self.columns].concat()
    }

    fn table(&mut self, table: Table) -> Value {
        let rows = table.columns.first().map_or(0, |column| length(&column.values));
        let columns: Vec<Value> = table.columns.into_iter().map(|column| self.column(column)).collect();
        json!({ "name": table.name, "rows": rows, "columns": columns })
    }

    fn column(&mut self, Column { name, values }: Column) -> Value {
        let at = self.columns.len();
        let mut described = json!({ "name": name, "at": at });
        described["type"] = match values {
            Values::Whole(values) => self.put("whole", values.iter().flat_map(|x| x.to_le_bytes())),
            Values::Real(values) => self.put("real", values.iter().flat_map(|x| x.to_le_bytes())),
            Values::Maybe(values) => self.put("maybe", values.iter().flat_map(|x| x.to_le_bytes())),
            Values::Flag(values) => self.put("flag", values.iter().map(|&x| u8::from(x))),
            Values::Text(values) => {
                described["values"] = values.into();
                "text".into()
            }
            Values::Words(words, keys) => {
                described["words"] = words.into();
                self.put("words", keys.iter().flat_map(|x| x.to_le_bytes()))
            }
        };
        described
    }

    fn put(&mut self, kind: &str, bytes: impl Iterator<Item = u8>) -> Value {
        self.columns.extend(bytes);
        self.columns.resize(self.columns.len().next_multiple_of(ALIGNMENT), 0);
        kind.into()
    }
}

fn length(values: &Values) -> usize {
    match values {
        Values::Whole(values) => values.len(),
        Values::Real(values) | Values::Maybe(values) => values.len(),
        Values::Flag(values) => values.len(),
        Values::Text(values) => values.len(),
        Values::Words(_, keys) => keys.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_begins_where_the_text_says_and_at_a_multiple_of_8() {
        let column = |name, values| Column { name, values };
        let table = Table {
            name: "t",
            columns: vec![
                column("a", Values::Words(vec!["x".into()], vec![0, 0, 0])),
                column("b", Values::Real(vec![1.5, 2.5, -3.0])),
            ],
        };
        let bytes = Answer::of(json!({ "title": "q" })).with_tables([table].into_iter()).into_bytes();
        let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        let text: Value = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
        // Three keys of 4 bytes, and 4 bytes of padding.
        assert_eq!(text["tables"][0]["columns"][1]["at"], 16);
        assert_eq!((4 + length) % 8, 0);
        let b = &bytes[4 + length + 16..];
        assert_eq!(b, [1.5_f64, 2.5, -3.0].map(f64::to_le_bytes).concat());
    }
}
