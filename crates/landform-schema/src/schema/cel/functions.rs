//! The functions that rules may call, by name.
//!
//! The interpreter doesn't tell which functions it has, but a definition with a misspelled one must
//! be refused when it is created and not when the rule first runs. A test calls each of them.

/// Sorted, for binary search.
const FUNCTIONS: &[&str] = &[
    "add",
    "asApproximateFloat",
    "asInteger",
    "base64.decode",
    "base64.encode",
    "bytes",
    "charAt",
    "cidr",
    "compareTo",
    "contains",
    "containsCIDR",
    "containsIP",
    "distinct",
    "double",
    "duration",
    "dyn",
    "endsWith",
    "family",
    "find",
    "findAll",
    "first",
    "flatten",
    "format",
    "format.byte",
    "format.date",
    "format.datetime",
    "format.dns1035Label",
    "format.dns1035LabelPrefix",
    "format.dns1123Label",
    "format.dns1123LabelPrefix",
    "format.dns1123Subdomain",
    "format.dns1123SubdomainPrefix",
    "format.labelValue",
    "format.named",
    "format.qualifiedName",
    "format.uri",
    "format.uuid",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getEscapedPath",
    "getFullYear",
    "getHost",
    "getHostname",
    "getHours",
    "getMilliseconds",
    "getMinutes",
    "getMonth",
    "getPort",
    "getQuery",
    "getScheme",
    "getSeconds",
    "hasValue",
    "indexOf",
    "int",
    "ip",
    "ip.isCanonical",
    "isCIDR",
    "isCIDRv4",
    "isCIDRv6",
    "isGlobalUnicast",
    "isGreaterThan",
    "isIP",
    "isIPv4",
    "isIPv6",
    "isInteger",
    "isLessThan",
    "isLinkLocalMulticast",
    "isLinkLocalUnicast",
    "isLoopback",
    "isQuantity",
    "isSemver",
    "isSorted",
    "isURL",
    "isUnspecified",
    "join",
    "jsonpatch.escapeKey",
    "last",
    "lastIndexOf",
    "lists.range",
    "lowerAscii",
    "major",
    "masked",
    "matches",
    "math.abs",
    "math.bitAnd",
    "math.bitNot",
    "math.bitOr",
    "math.bitShiftLeft",
    "math.bitShiftRight",
    "math.bitXor",
    "math.ceil",
    "math.floor",
    "math.greatest",
    "math.isFinite",
    "math.isInf",
    "math.isNaN",
    "math.least",
    "math.round",
    "math.sign",
    "math.sqrt",
    "math.trunc",
    "max",
    "min",
    "minor",
    "optional.none",
    "optional.of",
    "optional.ofNonZeroValue",
    "or",
    "orValue",
    "patch",
    "prefixLength",
    "quantity",
    "replace",
    "reverse",
    "semver",
    "sets.contains",
    "sets.equivalent",
    "sets.intersects",
    "sign",
    "size",
    "slice",
    "sort",
    "split",
    "startsWith",
    "string",
    "strings.quote",
    "sub",
    "substring",
    "sum",
    "timestamp",
    "trim",
    "type",
    "uint",
    "upperAscii",
    "url",
    "validate",
    "value",
];

/// Whether there is a function of this name.
pub(super) fn is_function(name: &str) -> bool {
    FUNCTIONS.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(FUNCTIONS.is_sorted());
    }

    #[test]
    fn each_function_exists() {
        use kube_cel::KubeCelExt;
        use kube_cel::cel::{Context, ExecutionError, Program};
        let context = Context::default().with_all();
        for name in FUNCTIONS
            .iter()
            .filter(|name| !["dyn", "type"].contains(name))
        {
            let program = Program::compile(&format!("{name}()")).expect(name);
            let result = program.execute(&context);
            assert!(
                !matches!(result, Err(ExecutionError::UndeclaredReference(_))),
                "{name}"
            );
        }
    }
}
