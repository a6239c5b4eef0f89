//! JSON with its fields in the order of the file, which OpenFHE's reader wants.

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;

/// A tree of JSON.
pub(super) enum Ordered {
    Leaf(Value),
    List(Vec<Ordered>),
    Fields(Vec<(String, Ordered)>),
}

impl Ordered {
    /// A field of an object.
    pub(super) fn field(&mut self, name: &str) -> Option<&mut Self> {
        match self {
            Self::Fields(fields) => fields.iter_mut().find(|(field, _)| field == name).map(|(_, value)| value),
            _ => None,
        }
    }
}

impl From<Vec<(&str, Ordered)>> for Ordered {
    fn from(fields: Vec<(&str, Self)>) -> Self {
        Self::Fields(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

impl Serialize for Ordered {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Leaf(value) => value.serialize(to),
            Self::List(items) => to.collect_seq(items),
            Self::Fields(fields) => to.collect_map(fields.iter().map(|(name, value)| (name, value))),
        }
    }
}

impl<'de> Deserialize<'de> for Ordered {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Tree)
    }
}

struct Tree;

impl<'de> Visitor<'de> for Tree {
    type Value = Ordered;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, x: bool) -> Result<Ordered, E> {
        Ok(Ordered::Leaf(x.into()))
    }

    fn visit_i64<E>(self, x: i64) -> Result<Ordered, E> {
        Ok(Ordered::Leaf(x.into()))
    }

    fn visit_u64<E>(self, x: u64) -> Result<Ordered, E> {
        Ok(Ordered::Leaf(x.into()))
    }

    fn visit_f64<E>(self, x: f64) -> Result<Ordered, E> {
        Ok(Ordered::Leaf(x.into()))
    }

    fn visit_str<E>(self, x: &str) -> Result<Ordered, E> {
        Ok(Ordered::Leaf(x.into()))
    }

    fn visit_unit<E>(self) -> Result<Ordered, E> {
        Ok(Ordered::Leaf(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Ordered, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Ordered::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Ordered, A::Error> {
        let mut list = Vec::new();
        while let Some(field) = fields.next_entry()? {
            list.push(field);
        }
        Ok(Ordered::Fields(list))
    }
}
