// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"time"
)

// figures are what the demo measured.
type figures struct {
	first, last     seen
	placed, updated time.Duration
	guestbook       []int
}

func (f *figures) print(out io.Writer, w *world) {
	say("Figures")
	fmt.Fprintf(out, "%-10s %-6s %5s\n", "CLUSTER", "ZONE", "PODS")
	for _, k := range f.last.spots() {
		fmt.Fprintf(out, "%-10s %-6s %5d\n", k.cluster, k.zone, f.last.cells[k].pods)
	}
	recreated := 0
	for key := range f.last.pods {
		if _, ok := f.first.pods[key]; !ok {
			recreated++
		}
	}
	fmt.Fprintf(out, "\nfrom apply on the hub to every pod Ready in the members   %6.1f s\n", f.placed.Seconds())
	fmt.Fprintf(out, "from image change on the hub to every pod updated, Ready  %6.1f s\n", f.updated.Seconds())
	fmt.Fprintf(out, "containers restarted in place                             %4d\n", restarted(f.first, f.last))
	fmt.Fprintf(out, "pods recreated                                            %4d\n", recreated)
	fmt.Fprintf(out, "v1alpha1 CloneSet, updated pods step by step              %v of 10\n", f.guestbook)
	say("The fleet goes on running")
	fmt.Fprintf(out, "Look:  export KUBECONFIG=%s; kubectl -n %s get uniteddeployment,fleetplacement\n", w.hub.kubeconfig, namespace)
	for _, m := range w.members {
		fmt.Fprintf(out, "       kubectl --kubeconfig %s -n %s get pods -o wide\n", m.kubeconfig, namespace)
	}
	fmt.Fprintf(out, "       go run ./hack/clusters status --name %s   (processes, logs, and where kubectl is, if you have none)\n", w.name)
	fmt.Fprintf(out, "Stop:  go run ./hack/clusters down --name %s\n", w.name)
}
