//! JSON that may hold a secret key: its numbers leave nothing in memory that was given back.
//!
//! Lists grow by moving what they hold, and drops overwrite nothing. So a list here is moved by hand, its old numbers are
//! overwritten, and a tree that is dropped is overwritten before.

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::{Map, Value};
use std::{
    hint::black_box,
    mem::{replace, take},
    ops::Deref,
};

/// A tree whose numbers are overwritten when it is dropped.
pub(super) struct Wiped(Value);

impl Wiped {
    /// Parses the bytes.
    ///
    /// # Errors
    /// Bytes that are no JSON.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, serde_json::Error> {
        serde_json::from_slice::<Node>(bytes).map(|Node(value)| Self(value))
    }
}

impl Deref for Wiped {
    type Target = Value;

    fn deref(&self) -> &Value {
        &self.0
    }
}

impl Drop for Wiped {
    fn drop(&mut self) {
        wipe(&mut self.0);
    }
}

/// Overwrites all numbers.
fn wipe(value: &mut Value) {
    match value {
        Value::Number(_) => {
            *value = Value::from(0u64);
            black_box(value); // somebody might look, so the store stays
        }
        Value::Array(items) => items.iter_mut().for_each(wipe),
        Value::Object(fields) => fields.values_mut().for_each(wipe),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// A part of a tree that is read.
struct Node(Value);

/// A list that is read: what it has is overwritten if the rest is no JSON.
#[derive(Default)]
struct List(Vec<Value>);

impl List {
    fn push(&mut self, item: Value) {
        let list = &mut self.0;
        if list.len() == list.capacity() {
            let mut larger = Vec::with_capacity((2 * list.len()).max(4));
            larger.extend(list.iter_mut().map(|old| replace(old, Value::from(0u64))));
            black_box(&mut *list);
            *list = larger;
        }
        list.push(item);
    }
}

impl Drop for List {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(wipe);
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Tree)
    }
}

struct Tree;

impl<'de> Visitor<'de> for Tree {
    type Value = Node;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, x: bool) -> Result<Node, E> {
        Ok(Node(x.into()))
    }

    fn visit_i64<E>(self, x: i64) -> Result<Node, E> {
        Ok(Node(x.into()))
    }

    fn visit_u64<E>(self, x: u64) -> Result<Node, E> {
        Ok(Node(x.into()))
    }

    fn visit_f64<E>(self, x: f64) -> Result<Node, E> {
        Ok(Node(x.into()))
    }

    fn visit_str<E>(self, x: &str) -> Result<Node, E> {
        Ok(Node(x.into()))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = List::default();
        while let Some(Node(item)) = items.next_element()? {
            list.push(item);
        }
        Ok(Node(Value::Array(take(&mut list.0))))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Node, A::Error> {
        let mut map = Map::new();
        while let Some((name, Node(value))) = fields.next_entry::<String, Node>()? {
            map.insert(name, value);
        }
        Ok(Node(Value::Object(map)))
    }
}

#[cfg(test)]
mod tests {
    use super::{List, Wiped};
    use serde_json::{Value, json};

    #[test]
    fn a_tree_is_what_the_library_reads() {
        let text = r#" {"a": [1, -2, 3.5, null, true, "x", [], {"b": [18446744073709551615]}], "a2": {}, "c": 1e400} "#;
        assert!(Wiped::parse(text.as_bytes()).is_err(), "no number");
        let text = text.replace("1e400", "[[1, 2], [3, 4, 5, 6, 7, 8, 9, 10, 11]]");
        let theirs: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(*Wiped::parse(text.as_bytes()).unwrap(), theirs);
        for wrong in ["", "[1", "[1,]", "{\"a\" 1}", "[1] 2"] {
            let theirs = serde_json::from_str::<Value>(wrong).unwrap_err().to_string();
            assert_eq!(Wiped::parse(wrong.as_bytes()).err().unwrap().to_string(), theirs);
        }
    }

    #[test]
    fn a_list_keeps_its_items_as_it_grows() {
        let mut list = List::default();
        (0..1000).for_each(|i| list.push(json!(i)));
        assert!(list.0.iter().enumerate().all(|(i, item)| item.as_u64() == Some(i as u64)));
    }
}
