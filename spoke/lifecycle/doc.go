// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lifecycle is the state machine of a pod's life under the hooks of its workload. It decides
// only; the patch it returns is sent by whoever writes the pod.
//
// A hook is *held* (blocks) while any of its finalizers or labels is on the pod; it is *complete*
// when all of them are. A nil hook is never complete, an empty one always is and never holds.
//
//	from                        wish    when                                     to               does
//	(new)                       create  –                                        PreparingNormal
//	PreparingNormal             keep    no preNormal hook and scheduled          Normal
//	PreparingNormal             keep    preNormal complete                       Normal
//	"", PreparingNormal, Normal update  inPlaceUpdate held                       PreparingUpdate
//	"", PreparingNormal, Normal update  inPlaceUpdate not held                   Updating         start
//	PreparingUpdate             update  inPlaceUpdate held                       (waits)
//	PreparingUpdate             update  inPlaceUpdate not held                   Updating         start
//	PreparingUpdate             keep    at the wanted revision, hook complete    Normal
//	                                    or no lifecycle
//	PreparingUpdate             keep    at the wanted revision, else             Updated
//	PreparingUpdate             keep    its update is not wanted any more        as the two above
//	Updating                    update  –                                        Updating         start
//	Updating                    keep    done, hook complete or no lifecycle      Normal
//	Updating                    keep    done, else                               Updated
//	Updated                     keep    no hook, or hook complete                Normal
//	Updated                     update  hook exists                              PreparingUpdate  puts the hook back
//	Updated                     update  no hook                                  (waits for keep)
//	any                         delete  preDelete held                           PreparingDelete
//	any                         delete  preDelete not held                       –                delete
//	PreparingDelete             revive  –                                        PreparingNormal
//	PreparingDelete             update  –                                        (refused)
//
// Entering PreparingDelete with markPodNotReady takes the readiness key preDeleteHook, entering
// PreparingUpdate takes preUpdateHook; Updated and Normal give preUpdateHook back, and
// PreparingNormal gives preDeleteHook back. A scheduled pod whose switch nobody has set gets it set.
package lifecycle
