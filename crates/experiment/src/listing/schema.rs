//! The JSON Schema of a scenario, which editors use to complete and check while typing.
//!
//! It says what a single value may be; what values must be to each other only the reader knows.

use std::collections::BTreeMap;

use fairhaul_cc::entries;
use fairhaul_units::{Kind, Parameter};
use serde_json::{Map, Value, json};

use crate::read::{Accepts, Fallback, Field, SCENARIO, Shape};

const NUMBER: &str = r"\d+(\.\d+)?|\.\d+";
const TIME: &str = "(ps|ns|us|µs|ms|s|min|h)";
const SIZE: &str = "(B|kB|KiB|MB|MiB|GB|GiB|TB)";
/// A name in a path of keys, or a pattern of names; a dot within braces separates nothing.
const NAMES: &str = r"([^.{}]|\{[^{}]*\})+";

/// The schema, draft 2020-12.
pub fn schema() -> String {
    let mut root = shape(&SCENARIO, None);
    let head = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A Fairhaul scenario",
        "description": "An experiment for the simulator or the lab.",
    });
    if let (Value::Object(root), Value::Object(head)) = (&mut root, head) {
        let rest = std::mem::replace(root, head);
        root.extend(rest);
        let alternatives = json!([{ "required": ["bottleneck"] }, { "required": ["node", "link"] }]);
        root.insert("oneOf".into(), alternatives);
        root.insert("$defs".into(), json!({ "keys": keys(), "range": range() }));
    }
    serde_json::to_string_pretty(&root).expect("a value is always text")
}

/// A table; `tag`: the key that holds its word.
fn shape(shape: &Shape, tag: Option<&str>) -> Value {
    let mut properties = Map::new();
    let mut required = Vec::new();
    if let Some(tag) = tag {
        properties.insert(tag.into(), json!({ "const": shape.name }));
        required.push(tag);
    }
    for field in shape.fields {
        properties.insert(field.name.into(), property(field));
        if matches!(field.fallback, Fallback::Required) {
            required.push(field.name);
        }
    }
    json!({
        "type": "object",
        "description": shape.help,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn property(field: &Field) -> Value {
    let mut value = accepted(&field.accepts);
    if let Value::Object(object) = &mut value {
        let default = match field.fallback {
            Fallback::Value(text) => format!(" Default: {text}."),
            Fallback::InWords(words) => format!(" Default: {words}."),
            Fallback::Described(parameter) => format!(" Default: {}.", super::preset(parameter)),
            Fallback::Required => String::new(),
        };
        object.insert("description".into(), json!(format!("{}{default}", field.help)));
    }
    value
}

fn pattern(alternatives: &str) -> Value {
    json!({ "type": "string", "pattern": format!("^\\s*({alternatives})\\s*$") })
}

/// A quantity as a pattern; its number may have an exponent.
fn quantity(unit: &str) -> String {
    format!(r"({NUMBER})([eE][+-]?\d+)?\s*{unit}")
}

fn accepted(accepts: &Accepts) -> Value {
    let time = quantity(TIME);
    match accepts {
        Accepts::Text => json!({ "type": "string" }),
        // All but space and the punctuation of ASCII, in a form that every dialect of patterns has.
        Accepts::Name => json!({ "type": "string", "pattern": r"^[^\s!-,./:-@\[-^`{-~]+$" }),
        Accepts::Span { .. } => pattern(&time),
        Accepts::Rate | Accepts::RateOrZero => pattern(&quantity("[kMGT]?bit/s")),
        Accepts::Size { .. } => pattern(&quantity(SIZE)),
        Accepts::Number { least, most, open } => {
            let mut value = json!({ "type": "number" });
            value[if *open { "exclusiveMinimum" } else { "minimum" }] = json!(least);
            if most.is_finite() {
                value["maximum"] = json!(most);
            }
            value
        }
        Accepts::Whole { least, most } => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Accepts::Switch => json!({ "type": "boolean" }),
        Accepts::Frequency => pattern(&format!(r"({NUMBER})\s*/s")),
        Accepts::RoundTrips => {
            let list = json!({ "type": "array", "minItems": 1, "items": pattern(&time) });
            json!({ "anyOf": [pattern(&format!(r"{time}(\s*\.\.\s*{time})?")), list] })
        }
        Accepts::Start => pattern(&format!(r"{time}|uniform\s*{time}\s*\.\.\s*{time}|exponential\s*{time}")),
        Accepts::Overhead => pattern(&format!(r"{time}|uniform\s*{time}\s*\.\.\s*{time}")),
        Accepts::Capacity => {
            let sized = quantity(&format!("({TIME}|{SIZE})"));
            pattern(&format!(r"unlimited|{sized}|({NUMBER})\s*(packets?|bdp)"))
        }
        Accepts::Burst => pattern(&format!(r"auto|{}|({NUMBER})\s*packets?", quantity(SIZE))),
        Accepts::Qdisc => pattern(r"[a-z][a-z0-9_]*(\s+[A-Za-z0-9_.:/%+-]+)*"),
        // Names are keys, or paths of keys.
        Accepts::Sysctls => json!({ "type": "object", "minProperties": 1 }),
        Accepts::Controller => controller(),
        Accepts::Stack => json!({ "anyOf": [
            { "type": "string" },
            { "type": "object", "properties": { "kind": { "type": "string" } }, "required": ["kind"] },
        ] }),
        Accepts::CommandLine => json!({ "anyOf": [
            { "type": "string" },
            { "type": "array", "minItems": 1, "items": { "type": "string" } },
        ] }),
        Accepts::Described(of) => parameter(of),
        Accepts::List(of) => json!({ "type": "array", "minItems": 1, "items": accepted(of) }),
        Accepts::Either(all) => json!({ "anyOf": all.iter().map(accepted).collect::<Vec<_>>() }),
        Accepts::Words(words) => {
            let alone: Vec<&str> = words.cases.iter().filter(|c| c.stands_alone()).map(|c| c.name).collect();
            if words.cases.iter().all(|case| case.fields.is_empty()) {
                return json!({ "enum": alone });
            }
            let alone = (!alone.is_empty()).then(|| json!({ "enum": alone }));
            let tables = words.cases.iter().map(|case| shape(case, Some(words.tag)));
            json!({ "anyOf": alone.into_iter().chain(tables).collect::<Vec<_>>() })
        }
        Accepts::Table(of) => shape(of, None),
        Accepts::Tables(of) => json!({ "type": "array", "minItems": 1, "items": shape(of, None) }),
        Accepts::Sweep => sweep(),
    }
}

/// `[sweep]`: each path of a key, and a list of what that key accepts, or a range; and how values are drawn.
fn sweep() -> Value {
    let mut axes = Axes::new();
    for field in SCENARIO.fields {
        gather(&field.accepts, field.name, &mut axes);
    }
    let above = |path: &str| axes.keys().any(|other| other.starts_with(&format!(r"{path}\.")));
    let patterns = axes.iter().map(|(path, values)| {
        let list = json!({ "type": "array", "minItems": 1, "items": any(values) });
        let range = json!({ "$ref": "#/$defs/range" });
        // A path with keys behind it may also be a table of those.
        let value = if above(path) { vec![list, range, parts()] } else { vec![list, range] };
        (format!("^{path}$"), json!({ "anyOf": value }))
    });
    json!({
        "type": "object",
        "properties": {
            "points": { "type": "integer", "minimum": 1, "description": "The number of settings drawn for the ranges without a number of points." },
            "design": { "enum": ["random", "latin"], "default": "latin", "description": "How they are drawn: each value by itself, or a Latin hypercube." },
            "design_seed": { "type": "integer", "minimum": 0, "default": 1, "description": "The seed of these random numbers." },
        },
        "patternProperties": patterns.collect::<Map<_, _>>(),
        "additionalProperties": parts(),
    })
}

/// What may stand in the lists of a sweep, by the pattern of the path.
type Axes = BTreeMap<String, Vec<Value>>;

/// Gathers the paths of a key and of the keys behind it.
fn gather(accepts: &Accepts, path: &str, axes: &mut Axes) {
    let behind = |name: &str| format!(r"{path}\.{name}");
    match accepts {
        // Neither can be set as a whole.
        Accepts::Sweep => return,
        Accepts::Tables(of) => {
            let name = behind(NAMES);
            return of.fields.iter().for_each(|f| gather(&f.accepts, &format!(r"{name}\.{}", f.name), axes));
        }
        Accepts::Table(of) => of.fields.iter().for_each(|f| gather(&f.accepts, &behind(f.name), axes)),
        Accepts::Either(all) => return all.iter().for_each(|accepts| gather(accepts, path, axes)),
        Accepts::Words(words) => {
            let names: Vec<&str> = words.cases.iter().map(|case| case.name).collect();
            add(&behind(words.tag), json!({ "enum": names }), axes);
            let fields = words.cases.iter().flat_map(|case| case.fields);
            fields.for_each(|f| gather(&f.accepts, &behind(f.name), axes));
        }
        Accepts::Sysctls => add(&behind(r"net\..+"), json!({ "type": ["string", "integer"] }), axes),
        Accepts::Controller => {
            let names: Vec<&str> = entries().iter().map(|e| e.name).collect();
            add(&behind("kind"), json!({ "enum": names }), axes);
            let parameters = entries().iter().flat_map(|entry| entry.parameters);
            parameters.for_each(|p| add(&behind(p.name), parameter(p), axes));
        }
        Accepts::Stack => {
            let settings = json!({ "type": ["string", "number", "boolean"] });
            add(&behind("[a-z][a-z0-9_]*"), settings, axes);
        }
        _ => {}
    }
    add(path, accepted(accepts), axes);
}

fn add(path: &str, value: Value, axes: &mut Axes) {
    let values = axes.entry(path.to_owned()).or_default();
    if !values.contains(&value) {
        values.push(value);
    }
}

fn any(values: &[Value]) -> Value {
    match values {
        [one] => one.clone(),
        several => json!({ "anyOf": several }),
    }
}

/// A part of a path whose rest stands in a table: TOML's own dotted keys make such.
fn parts() -> Value {
    json!({ "$ref": "#/$defs/keys" })
}

/// What may stand instead of a list of values of a sweep: a range, or a list to draw from.
fn range() -> Value {
    let end = json!({ "type": ["number", "string"] });
    json!({ "anyOf": [
        {
            "type": "object",
            "properties": {
                "from": end,
                "to": end,
                "points": { "type": "integer", "minimum": 2, "description": "The number of values; without it they are drawn." },
                "scale": { "enum": ["linear", "log"], "default": "linear" },
            },
            "required": ["from", "to"],
            "additionalProperties": false,
        },
        {
            "type": "object",
            "properties": { "any": { "type": "array", "minItems": 1, "description": "The values of which one is drawn." } },
            "required": ["any"],
            "additionalProperties": false,
        },
    ] })
}

/// Tables within `[sweep]`; what their keys are is for the reader to say.
fn keys() -> Value {
    let list = json!({ "type": "array", "minItems": 1 });
    json!({ "type": "object", "additionalProperties": { "anyOf": [list, { "$ref": "#/$defs/range" }, parts()] } })
}

fn controller() -> Value {
    let names: Vec<&str> = entries().iter().map(|e| e.name).collect();
    let tables = entries().iter().map(|entry| {
        let mut properties = Map::from_iter([("kind".to_owned(), json!({ "const": entry.name }))]);
        properties.extend(entry.parameters.iter().map(|p| (p.name.to_owned(), parameter(p))));
        json!({
            "type": "object",
            "description": entry.title,
            "properties": properties,
            "required": ["kind"],
            "additionalProperties": false,
        })
    });
    json!({ "anyOf": std::iter::once(json!({ "enum": names })).chain(tables).collect::<Vec<_>>() })
}

fn parameter(parameter: &Parameter) -> Value {
    let mut value = match parameter.kind {
        Kind::Number { least, most, .. } => accepted(&Accepts::Number { least, most, open: false }),
        Kind::Whole { least, most } => accepted(&Accepts::Whole { least, most }),
        Kind::Switch => json!({ "type": "boolean" }),
        Kind::Word(words) => json!({ "enum": words }),
        Kind::Formula { .. } => json!({ "type": "string" }),
    };
    value["description"] = json!(parameter.help);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_is_json_and_names_every_key_of_a_flow() {
        let schema: Value = serde_json::from_str(&schema()).unwrap();
        let flow = &schema["properties"]["flow"]["items"];
        // What sends datagrams has no controller, so the key is no must of every flow.
        assert_eq!(flow["required"], json!(["name"]));
        assert_eq!(flow["additionalProperties"], json!(false));
        assert_eq!(schema["properties"]["seed"]["type"], "integer");
        assert_eq!(schema["required"], json!(["duration", "flow"]));
    }

    #[test]
    fn a_sweep_has_a_path_for_every_key_and_lists_of_what_it_accepts() {
        let schema: Value = serde_json::from_str(&schema()).unwrap();
        let sweep = &schema["properties"]["sweep"];
        let paths = sweep["patternProperties"].as_object().unwrap();
        let seed = &paths["^seed$"]["anyOf"][0];
        assert_eq!((&seed["type"], &seed["minItems"]), (&json!("array"), &json!(1)));
        assert_eq!(seed["items"]["type"], "integer");
        let factor = &paths[&format!(r"^flow\.{NAMES}\.controller\.factor$")];
        assert_eq!(factor["anyOf"][0]["items"]["type"], "boolean");
        // A law behind a word behind a word, and no path that ends at a list of tables.
        assert!(paths.contains_key(&format!(r"^flow\.{NAMES}\.traffic\.size\.mean$")));
        assert!(paths.contains_key(r"^bottleneck\.queue\.capacity$"));
        assert!(!paths.contains_key("^flow$") && !paths.contains_key("^sweep$"));
    }
}
