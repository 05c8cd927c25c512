// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package archtest

// Module is the module whose packages the rules name by their folders.
const Module = "github.com/flotilla-sh/flotilla"

// Layer is a height in the building. A package imports what is lower, and of its own layer only what
// the layer or an exception allows.
type Layer int

// The layers, lowest first.
const (
	APIs Layer = iota
	Generated
	Internal
	Engines
	Kinds
	Setup
	Main
	// Outside is what is no part of the product: tools, benches and black-box tests.
	Outside
)

// place puts the packages that match a pattern into a layer. "…/*" is one folder deep, "…/**" any
// depth and the folder itself. The first that matches counts.
type place struct {
	pattern string
	layer   Layer
}

var places = []place{
	{".", APIs}, // holds no code
	{"apis/**", APIs},
	{"generated/**", Generated},
	{"internal/**", Internal},

	{"spoke/podset/**", Engines},
	{"spoke/rollout", Engines},
	{"spoke/inplace", Engines},
	{"spoke/revision", Engines},
	{"spoke/lifecycle", Engines},
	{"spoke/sidecar", Engines},
	{"spoke/workload", Engines},
	{"spoke/prepull", Engines},
	{"spoke/pullsecrets", Engines},
	{"spoke/budget/**", Engines},
	{"spoke/books", Engines},
	{"spoke/spread/**", Engines},
	{"spoke/podadmission", Engines},
	{"spoke/podprobe", Engines},
	{"hub/placement", Engines},
	{"hub/split", Engines},
	{"hub/share", Engines},
	{"hub/render", Engines},
	{"hub/wave", Engines},
	{"hub/slice", Engines},
	{"hub/references", Engines},
	{"nodeagent/cri/**", Engines},
	{"nodeagent/credentials", Engines},
	{"nodeagent/stop", Engines},
	{"nodeagent/footprint", Engines},

	{"hub/setup/**", Setup},
	{"spoke/setup/**", Setup},
	{"nodeagent/setup/**", Setup},
	{"hub", Main},
	{"spoke", Main},
	{"nodeagent", Main},
	{"hub/**", Kinds},
	{"spoke/**", Kinds},
	{"nodeagent/**", Kinds},

	{"cli/**", Outside},
	{"hack/**", Outside},
	{"e2e/**", Outside},
}

// open are the layers whose packages may import each other.
var open = map[Layer]bool{APIs: true, Generated: true, Internal: true, Setup: true, Outside: true}

// allowance lets packages of one pattern import their siblings of another, for a reason.
type allowance struct{ from, to, because string }

var siblings = []allowance{
	{"spoke/podset", "spoke/rollout", "a plan asks which pods may move now"},
	{"spoke/podset", "spoke/inplace", "a plan asks whether a pod can be updated in place"},
	{"spoke/podset", "spoke/lifecycle", "a plan asks which hook holds a pod"},
	{"spoke/budget", "spoke/inplace", "a pod that is being updated in place is not available"},
	{"spoke/budget/ledger", "spoke/budget", "it keeps the books that the engine counts"},
	{"spoke/budget/ledger", "spoke/books", "it keeps its books there"},
	{"spoke/spread/ledger", "spoke/spread", "it keeps the books that the engine counts"},
	{"spoke/spread/ledger", "spoke/books", "it keeps its books there"},
	{"spoke/podset/execute", "spoke/podset", "it writes what the plan says"},
	{"spoke/podset/simulate", "spoke/podset", "it plays whole rollouts of the engine"},
	{"spoke/podset/simulate", "spoke/podset/execute", "it plays whole rollouts of the engine"},
	{"hub/share", "hub/placement", "a share is a split over the clusters that were placed"},
	{"hub/share", "hub/split", "a share is a split over the clusters that were placed"},
	{"nodeagent/cri/crifake", "nodeagent/cri", "it stands in for a runtime in tests"},
	{"nodeagent/credentials", "nodeagent/cri", "a credential is what the runtime takes as one"},
	{"nodeagent/stop", "nodeagent/cri", "it stops containers through the runtime"},
}

// reservation says which packages may import something. Imports are folders of this module or import
// paths, with everything below them.
type reservation struct {
	imports []string
	only    []string // patterns; none: nobody
	// deep also forbids to import it by way of other packages.
	deep    bool
	because string
}

var reservations = []reservation{
	{imports: []string{"k8s.io/kubernetes"}, deep: true,
		because: "it is no library; only the module that builds the local clusters names it"},
	{imports: []string{"sigs.k8s.io/kustomize"}, only: []string{"hub/render", "hub/addon", "hack/**", "e2e/**"},
		because: "manifests are rendered in one place"},
	{imports: []string{"k8s.io/cri-api", "k8s.io/cri-client", "github.com/containerd/containerd"}, only: []string{"nodeagent/cri/**", "hack/**", "e2e/**"},
		because: "the container runtime is spoken to in one place"},
	{imports: []string{"open-cluster-management.io"}, only: []string{"hub/**", "hack/**", "e2e/**"},
		because: "a member works without any hub"},
	{imports: []string{"apis/apps/v1alpha1"}, only: []string{"apis/**", "generated/**", "internal/kindadmission", "hub/setup/**", "spoke/setup/**", "spoke/livefacts", "e2e/**",
		// Kinds that have no other version:
		"nodeagent/setup/**", "nodeagent/probes", "spoke/podprobe", "spoke/podprobemarker", "spoke/nodepodprobe", "spoke/podmarks", "spoke/ephemeraljob"},
		because: "controllers see the storage version only"},
	{imports: []string{"internal/testkit"}, only: []string{"hack/bench", "e2e/**"},
		because: "it starts API servers: only tests and benches do"},
	{imports: []string{"hack", "e2e"}, only: []string{"hack/**", "e2e/**"},
		because: "the product does not depend on its tools"},
}

// confinement says which imports, beside the standard library, packages may have at all.
type confinement struct {
	pattern string
	to      []string
	because string
}

var confinements = []confinement{
	{"apis/**", []string{"apis", "k8s.io/api", "k8s.io/apimachinery"},
		"the contract can be imported by anybody at little cost"},
}

// purity says which packages have no client, not even by way of others.
type purity struct {
	pattern string
	because string
}

var pure = []purity{
	{"apis/**", "the contract talks to no cluster"},
	{"spoke/podset", "a planner decides from what it is given"},
	{"spoke/rollout", "a planner decides from what it is given"},
	{"spoke/inplace", "a planner decides from what it is given"},
	{"spoke/lifecycle", "a planner decides from what it is given"},
	{"spoke/budget", "a planner decides from what it is given"},
	{"spoke/spread", "a planner decides from what it is given"},
	{"spoke/sidecar", "a planner decides from what it is given"},
	{"hub/placement", "a planner decides from what it is given"},
	{"hub/split", "a planner decides from what it is given"},
	{"hub/share", "a planner decides from what it is given"},
	{"hub/wave", "a planner decides from what it is given"},
	{"hub/references", "a planner decides from what it is given"},
}

// clients are the imports that a pure package must not have.
var clients = []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime"}

// components never import each other: they meet in apis.
var components = []string{"hub", "spoke", "nodeagent"}
