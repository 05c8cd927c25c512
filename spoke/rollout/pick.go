// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package rollout

// Picked is what Pick took and why it stopped.
type Picked struct {
	// Take are indexes into all, in update order.
	Take []int
	// Blocked says that the budget ran out before the candidates did.
	Blocked bool
}

// Pick walks the ordered candidates and takes those that may move now. all are the active pods,
// target tells whether the move is to the update revision (else back to the current one).
func Pick(all []Pod, order []int, d Diff) Picked {
	toUpdated := d.UpdateNum > 0
	unavailable, unavailableAtTarget := 0, 0
	for i := range all {
		if !all[i].Available {
			unavailable++
			if all[i].Updated == toUpdated {
				unavailableAtTarget++
			}
		}
	}
	order = order[:min(len(order), abs(d.UpdateNum))]
	// Missing pods use the budget up. When they may not be created because pods are unavailable,
	// replacing one of those is the only way on, and costs nothing.
	atTarget := d.UpdateMaxUnavailable
	if d.ScaleUp > 0 && d.ScaleUpLimit == 0 {
		atTarget = max(atTarget, 1)
	}
	var out Picked
	for _, at := range order {
		if unavailableAtTarget+len(out.Take) >= atTarget {
			out.Blocked = true
			break
		}
		if all[at].Available {
			if unavailable >= d.UpdateMaxUnavailable {
				out.Blocked = true
				break
			}
			unavailable++
		}
		out.Take = append(out.Take, at)
	}
	return out
}
