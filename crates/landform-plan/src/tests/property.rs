//! If nothing changes in between, applying does exactly what the plan said, in the same order: over generated
//! landscapes and generated changes.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::harness::{Site, data, installation, named};
use crate::{Action, Question};

const MOCK: &str = "landscaper.gardener.cloud/mock";
/// Says how many cases to try; a few when it isn't set.
const CASES: &str = "LANDFORM_PLAN_CASES";
const FEW: u32 = 6;
/// Installations and data objects of a landscape at the most.
const MOST: usize = 5;

/// One installation: what it imports, as indexes of data objects and of earlier installations, a constant, and
/// whether its item is in a nested installation.
#[derive(Clone, Debug)]
struct Product {
    data: BTreeSet<usize>,
    products: BTreeSet<usize>,
    constant: u8,
    nested: bool,
    fails: bool,
}

#[derive(Clone, Debug)]
struct Landscape {
    data: Vec<u8>,
    products: Vec<Product>,
}

/// One edit of a landscape.
#[derive(Clone, Debug)]
enum Edit {
    Data(usize, u8),
    Constant(usize, u8),
    Imports(usize, BTreeSet<usize>),
    Fails(usize, bool),
    Add(Product),
    Delete(usize),
    DeleteData(usize),
}

fn product() -> impl Strategy<Value = Product> {
    let some = || proptest::collection::btree_set(0..MOST, 0..3);
    (
        some(),
        some(),
        0..3_u8,
        any::<bool>(),
        proptest::bool::weighted(0.1),
    )
        .prop_map(|(data, products, constant, nested, fails)| Product {
            data,
            products,
            constant,
            nested,
            fails,
        })
}

fn landscape() -> impl Strategy<Value = Landscape> {
    let data = proptest::collection::vec(0..3_u8, 1..MOST);
    let products = proptest::collection::vec(product(), 1..MOST);
    (data, products).prop_map(|(data, products)| Landscape { data, products })
}

fn edit() -> impl Strategy<Value = Edit> {
    let some = || proptest::collection::btree_set(0..MOST, 0..3);
    prop_oneof![
        (0..MOST, 0..3_u8).prop_map(|(at, value)| Edit::Data(at, value)),
        (0..MOST, 0..3_u8).prop_map(|(at, value)| Edit::Constant(at, value)),
        (0..MOST, some()).prop_map(|(at, data)| Edit::Imports(at, data)),
        (0..MOST, any::<bool>()).prop_map(|(at, fails)| Edit::Fails(at, fails)),
        product().prop_map(Edit::Add),
        (0..MOST).prop_map(Edit::Delete),
        (0..MOST).prop_map(Edit::DeleteData),
    ]
}

impl Landscape {
    fn object(&self, at: usize) -> Value {
        let product = &self.products[at];
        let known = product.data.iter().filter(|at| **at < self.data.len());
        let mut imports: Vec<_> = known.map(|at| format!("data{at}")).collect();
        let earlier = product.products.iter().filter(|earlier| **earlier < at);
        imports.extend(earlier.map(|at| format!("product{at}")));
        let imports: Vec<&str> = imports.iter().map(String::as_str).collect();
        let name = format!("product{at}");
        let mut object = installation(MOCK, &name, &imports, &json!(product.constant));
        let files = &mut object["spec"]["blueprint"]["inline"]["filesystem"];
        let text = files["blueprint.yaml"].as_str().unwrap().to_owned();
        if product.fails {
            files["blueprint.yaml"] = json!(text.replace("config: {", "config: {phase: Failed, "));
        } else if product.nested {
            files["blueprint.yaml"] = nested(&text);
        }
        object
    }

    fn objects(&self) -> Vec<Value> {
        let values = self.data.iter().enumerate();
        let mut objects: Vec<_> = values
            .map(|(at, value)| data(&format!("data{at}"), json!(value)))
            .collect();
        objects.extend((0..self.products.len()).map(|at| self.object(at)));
        objects
    }

    /// What an edit changes, as a question.
    fn edit(&mut self, edit: &Edit) -> Question {
        let mut question = Question::default();
        match edit {
            Edit::Data(at, value) => {
                let at = at % self.data.len();
                self.data[at] = *value;
                question.objects = vec![data(&format!("data{at}"), json!(value))];
            }
            Edit::Constant(at, value) => {
                let at = at % self.products.len();
                self.products[at].constant = *value;
                question.objects = vec![self.object(at)];
            }
            Edit::Imports(at, data) => {
                let at = at % self.products.len();
                self.products[at].data.clone_from(data);
                question.objects = vec![self.object(at)];
            }
            Edit::Fails(at, fails) => {
                let at = at % self.products.len();
                self.products[at].fails = *fails;
                question.objects = vec![self.object(at)];
            }
            Edit::Add(product) => {
                self.products.push(product.clone());
                question.objects = vec![self.object(self.products.len() - 1)];
            }
            Edit::Delete(at) => {
                let name = format!("product{}", at % self.products.len());
                question.delete = vec![named("Installation", &name)];
            }
            Edit::DeleteData(at) => {
                let name = format!("data{}", at % self.data.len());
                question.delete = vec![named("DataObject", &name)];
            }
        }
        question
    }
}

/// A blueprint whose items are in a nested installation with the same imports and exports.
fn nested(inner: &str) -> Value {
    let blueprint: Value = serde_json::from_str(inner).unwrap();
    let given = |import: &Value| json!({"name": import["name"], "dataRef": import["name"]});
    let imports = blueprint["imports"].as_array().unwrap();
    let outer = json!({
        "imports": blueprint["imports"], "exports": blueprint["exports"],
        "subinstallations": [{
            "name": "inner",
            "blueprint": {"filesystem": {"blueprint.yaml": inner}},
            "imports": {"data": imports.iter().map(given).collect::<Vec<_>>()},
            "exports": {"data": [{"name": "out", "dataRef": "out"}]},
        }],
        "exportExecutions": [{
            "name": "exports", "type": "GoTemplate",
            "template": "exports:\n  out: {{ .values.dataobjects.out | toJson }}\n",
        }],
    });
    json!(outer.to_string())
}

#[test]
fn generated_landscapes_come_up_and_their_changes_reach_far() {
    let product = |products: &[usize], nested| Product {
        data: [0].into(),
        products: products.iter().copied().collect(),
        constant: 1,
        nested,
        fails: false,
    };
    let mut landscape = Landscape {
        data: vec![1],
        products: vec![
            product(&[], true),
            product(&[0], false),
            product(&[1], true),
        ],
    };
    let site = Site::new();
    site.apply(landscape.objects());
    for at in 0..3 {
        assert_eq!(site.phase(&format!("product{at}")), "Succeeded");
    }
    let question = landscape.edit(&Edit::Constant(0, 2));
    let plan = site.plan(&question);
    assert_eq!(plan.count(Action::Deploy), 3, "{plan:#?}");
    assert_eq!(plan.changes, site.make(&question));
    let question = landscape.edit(&Edit::Add(product(&[2], true)));
    let plan = site.plan(&question);
    assert_eq!(plan.count(Action::Deploy), 1, "{plan:#?}");
    assert_eq!(plan.changes, site.make(&question));
    assert_eq!(site.phase("product3"), "Succeeded");
}

#[test]
fn applying_does_exactly_what_the_plan_said() {
    let cases = std::env::var(CASES).ok().and_then(|text| text.parse().ok());
    let mut runner = TestRunner::new(Config {
        cases: cases.unwrap_or(FEW),
        max_shrink_iters: 200,
        failure_persistence: None,
        ..Config::default()
    });
    let edits = proptest::collection::vec(edit(), 1..4);
    let outcome = runner.run(&(landscape(), edits), |(mut landscape, edits)| {
        let site = Site::new();
        site.apply(landscape.objects());
        for edit in edits {
            let question = landscape.edit(&edit);
            let before = site.revision();
            let plan = site.plan(&question);
            prop_assert_eq!(site.revision(), before);
            let carried_out = site.make(&question);
            prop_assert_eq!(plan.changes, carried_out, "{:?}", question);
        }
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
