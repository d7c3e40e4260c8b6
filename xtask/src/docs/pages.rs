//! What a definition can't say about its kind: what it is for, an example, and where to read on.

/// What is written by hand on the page of a kind.
pub struct Page {
    /// The kind.
    pub kind: &'static str,
    /// What it is, for the list of kinds.
    pub line: &'static str,
    /// What it is for.
    pub about: &'static str,
    /// A manifest that the server takes; a test compares it with the schema.
    pub example: &'static str,
    /// Where to read on: words and link.
    pub see: &'static [(&'static str, &'static str)],
}

const LANDSCAPES: (&str, &str) = ("landscapes", "../landscapes.md");
const BLUEPRINTS: (&str, &str) = ("blueprints", "../blueprints.md");
const CONCEPTS: (&str, &str) = ("concepts", "../concepts.md");
const OPERATORS: (&str, &str) = ("operators", "../operators.md");
const CATALOGS: (&str, &str) = ("catalogs", "../catalogs.md");

const MIGRATING: (&str, &str) = ("coming from Landscaper", "../migrating-from-landscaper.md");
/// About kinds that exist for their manifests only.
const UNREAD: &str = "The kind exists so that manifests of Landscaper apply as they are. Landform keeps its objects and does nothing with them.";

/// One for each kind.
pub const PAGES: &[Page] = &[
    Page {
        kind: "Installation",
        line: "a product in one place: a blueprint and what it is given",
        about: "A product in one place: a blueprint, where its imports come from, and under which names its exports are given to\n\
                others. Landform runs it after those that it imports from, and again when an import changed.",
        example: "\
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Installation
metadata:
  name: shop-api
spec:
  blueprint:
    path: blueprints/api
  imports:
    data:
    - name: connection
      dataRef: shop-database
    targets:
    - name: cluster
      target: production
  exports:
    data:
    - name: url
      dataRef: shop-api
",
        see: &[
            CONCEPTS,
            LANDSCAPES,
            BLUEPRINTS,
            ("execution", "execution.md"),
        ],
    },
    Page {
        kind: "Execution",
        line: "the deploy items of an installation",
        about: "The deploy items of one installation, in the order of `dependsOn`. Landform writes it; people look at it.",
        example: "\
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Execution
metadata:
  name: shop-api
spec:
  deployItems:
  - name: schema
    type: landform.dev/command
    config:
      command: [./migrate]
  - name: api
    type: landform.dev/process
    dependsOn: [schema]
    config:
      command: [./api]
",
        see: &[LANDSCAPES, ("deploy item", "deployitem.md")],
    },
    Page {
        kind: "DeployItem",
        line: "one thing that a deployer brings to a target",
        about: "One thing that a deployer brings to a target: a process, a command, some manifests. The deployer of its type takes it\n\
                up, works on it until it has succeeded or failed, and writes what it exports into a Secret.",
        example: "\
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: DeployItem
metadata:
  name: clock
spec:
  type: landform.dev/process
  timeout: 2m
  config:
    command: [python3, -m, http.server, \"7500\"]
    readiness:
      tcp: {port: 7500}
",
        see: &[
            LANDSCAPES,
            ("processes", "../deployers/process.md"),
            ("commands", "../deployers/command.md"),
            ("manifests", "../deployers/manifest.md"),
            ("a deployer of your own", "../writing-a-deployer.md"),
        ],
    },
    Page {
        kind: "DataObject",
        line: "a value that installations import or export",
        about: "A value, of any shape, that installations import or export. At the root people write them, too; inside of an\n\
                installation Landform does.",
        example: "\
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: DataObject
metadata:
  name: shop-config
data:
  port: 7401
",
        see: &[CONCEPTS, LANDSCAPES],
    },
    Page {
        kind: "Target",
        line: "a place to deploy to",
        about: "A place to deploy to: a cluster, or whatever the deployer of a type understands. The configuration is in the object or\n\
                in a Secret.",
        example: "\
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Target
metadata:
  name: production
spec:
  type: landscaper.gardener.cloud/kubernetes-cluster
  secretRef:
    name: production-access
    key: kubeconfig
",
        see: &[
            CONCEPTS,
            ("targets of manifests", "../deployers/manifest.md"),
        ],
    },
    Page {
        kind: "Context",
        line: "settings that installations share, for deployers",
        about: "Settings that several installations share. An installation names one by `spec.context`, and passes the name on to nested\n\
                installations and deploy items, where deployers of yours find it; without a name it is `default`, which Landform makes in\n\
                each namespace that has installations. A Context that is named and missing is waited for.",
        example: "\
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Context
metadata:
  name: default
repositoryContext:
  type: ociRegistry
  baseUrl: example.org/components
configurations:
  config.example.org:
    region: north
",
        see: &[LANDSCAPES],
    },
    Page {
        kind: "TargetSync",
        line: "keeps Targets like the Secrets of a namespace in another cluster",
        about: "Makes a Secret and a Target of type `landscaper.gardener.cloud/kubernetes-cluster` for each Secret in a namespace of another\n\
                cluster whose name matches an expression, changes them when the Secret there changes, and deletes them when it goes. The\n\
                source is looked at every five minutes, and at once with the annotation `landscaper.gardener.cloud/operation: reconcile`.\n\
                A namespace may have one TargetSync. It acts with the rights of who wrote it: to get the Secret with the kubeconfig, and to\n\
                create and update Secrets and Targets. What it made is deleted with it; what it didn't make is left alone, and named in\n\
                `status.lastErrors`.\n\n\
                With `tokenRotation.enabled` the token in the kubeconfig is replaced every 60 days, or at once with the annotation\n\
                `landscaper.gardener.cloud/rotate-token`: the kubeconfig has one user, who is called like a service account of the source\n\
                namespace and may request tokens for itself.",
        example: "\
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: TargetSync
metadata:
  name: clusters
spec:
  sourceNamespace: garden-shop
  secretNameExpression: '\\.kubeconfig$'
  secretRef:
    name: garden
    key: kubeconfig
  createTargetToSource: true
  targetToSourceName: garden
  tokenRotation:
    enabled: true
",
        see: &[LANDSCAPES, MIGRATING],
    },
    Page {
        kind: "SyncObject",
        line: "a lock of Landscaper's own; not read",
        about: UNREAD,
        example: "\
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: SyncObject
metadata:
  name: lock
spec:
  podName: landscaper-0
  kind: Target
  name: cluster
  prefix: di
  lastUpdateTime: '2026-01-01T00:00:00Z'
",
        see: &[MIGRATING],
    },
    Page {
        kind: "LsHealthCheck",
        line: "how Landscaper's own pods are; not read",
        about: UNREAD,
        example: "\
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: LsHealthCheck
metadata:
  name: landscaper
status: Ok
lastUpdateTime: '2026-01-01T00:00:00Z'
description: fine
",
        see: &[MIGRATING],
    },
    Page {
        kind: "CriticalProblems",
        line: "problems of Landscaper's own pods; not read",
        about: UNREAD,
        example: "\
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: CriticalProblems
metadata:
  name: critical-problems
spec:
  criticalProblem:
  - podName: landscaper-0
    creationTime: '2026-01-01T00:00:00Z'
    description: a pod ended
",
        see: &[MIGRATING],
    },
    Page {
        kind: "ComponentVersionOverwrites",
        line: "components that stand in for others; not read yet",
        about: UNREAD,
        example: "\
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: ComponentVersionOverwrites
metadata:
  name: overwrites
overwrites:
- source:
    componentName: example.org/shop
    version: v1.0.0
  substitution:
    version: v1.0.1
",
        see: &[MIGRATING],
    },
    Page {
        kind: "ComponentOverwrites",
        line: "the same in the words of older versions; not read yet",
        about: UNREAD,
        example: "\
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: ComponentOverwrites
metadata:
  name: overwrites
overwrites:
- component:
    componentName: example.org/shop
  target:
    version: v1.0.1
",
        see: &[MIGRATING],
    },
    Page {
        kind: "DeployerRegistration",
        line: "a deployer that older Landscapers install; not read",
        about: UNREAD,
        example: "\
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: DeployerRegistration
metadata:
  name: ours
spec:
  types: [example.org/ours]
",
        see: &[MIGRATING],
    },
    Page {
        kind: "Environment",
        line: "a place where older Landscapers install deployers; not read",
        about: UNREAD,
        example: "\
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Environment
metadata:
  name: ours
spec:
  namespace: deployers
",
        see: &[MIGRATING],
    },
    Page {
        kind: "Catalog",
        line: "where versions of operators come from",
        about: "Where versions of operators come from: documents in the object, a directory, a ConfigMap or a file behind a URL.",
        example: "\
apiVersion: catalog.landform.dev/v1alpha1
kind: Catalog
metadata:
  name: ours
spec:
  directory:
    path: catalog
  interval: 5s
",
        see: &[CATALOGS, OPERATORS],
    },
    Page {
        kind: "AppType",
        line: "an operator, and the version that you want",
        about: "An operator as you want it: which package, from which channel, in which range of versions, and when it may be\n\
                upgraded.",
        example: "\
apiVersion: catalog.landform.dev/v1alpha1
kind: AppType
metadata:
  name: notes
spec:
  package: notes
  channel: stable
  version: \">=1.0.0 <2.0.0\"
  upgradePolicy: Manual
",
        see: &[OPERATORS, ("operator version", "operatorversion.md")],
    },
    Page {
        kind: "OperatorVersion",
        line: "one version of an operator in a namespace",
        about: "One version of an operator in a namespace: what it needs, what it brings, how it is installed and how it takes over\n\
                from the version before. App types create them from catalogs; the same manifests are what catalogs consist of.",
        example: "\
apiVersion: catalog.landform.dev/v1alpha1
kind: OperatorVersion
metadata:
  name: notes.v1.1.0
spec:
  package: notes
  version: 1.1.0
  replaces: notes.v1.0.0
  owned:
  - {group: notes.example.com, version: v1, kind: Note}
  manages:
    matchLabels: {app: notes}
    kinds: [{group: \"\", version: v1, kind: ConfigMap}]
  install:
    process:
      rules:
      - {apiGroups: [notes.example.com], resources: [notes], verbs: [get, list, watch]}
      config:
        command: [python3, notes.py]
",
        see: &[OPERATORS, CATALOGS],
    },
    Page {
        kind: "Project",
        line: "a directory of files that is reconciled into objects",
        about: "A directory of files that is reconciled into objects. `landform up` writes it; a `landform.yaml` in the directory is\n\
                the same without `spec.directory`, and holds the project's settings.",
        example: "\
apiVersion: landform.dev/v1alpha1
kind: Project
metadata:
  name: shop
spec:
  namespace: default
  values:
    stations: [north, south]
  ignore: [drafts, \"**/*.bak.yaml\"]
  links:
  - name: the shop's page
    url: http://127.0.0.1:7403/
",
        see: &[
            ("projects", "../projects.md"),
            ("getting started", "../getting-started.md"),
        ],
    },
    Page {
        kind: "Reconciler",
        line: "who reconciles a kind of yours: a URL or a command",
        about: "Has the objects of a kind reconciled by a hook in any language: a URL, or a command.",
        example: "\
apiVersion: landform.dev/v1alpha1
kind: Reconciler
metadata:
  name: recipes
spec:
  for: {group: example.com, version: v1, kind: Recipe}
  refs:
  - path: .spec.uses[*]
  owns:
  - {group: \"\", version: v1, kind: ConfigMap}
  hook:
    url: http://127.0.0.1:8765/
  timeout: 10s
",
        see: &[
            ("reconcilers in any language", "../reconcilers.md"),
            CONCEPTS,
        ],
    },
];
