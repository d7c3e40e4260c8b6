//! Quotas: a number of objects is a whole number from 0.

use landform_api::{FieldError, FieldPath, FieldReason};

use super::KindRules;
use crate::object::Object;
use crate::quotas::{counted, whole};

pub(super) struct QuotaRules;

impl KindRules for QuotaRules {
    fn validate(&self, object: &Object, _old: Option<&Object>) -> Vec<FieldError> {
        let hard = object.get("spec").and_then(|spec| spec["hard"].as_object());
        let path = FieldPath::of("spec.hard");
        hard.into_iter()
            .flatten()
            .filter(|(name, _)| counted(name).is_some())
            .filter(|(_, value)| whole(value).is_none())
            .map(|(name, value)| {
                let path = path.key(name);
                let detail = "must be a whole number of objects, greater than or equal to 0";
                FieldError::with_value(&path, FieldReason::Invalid, value, detail)
            })
            .collect()
    }
}
