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
//	"", Normal                  keep    –                                        (stays)
//	PreparingNormal             keep    no preNormal hook and scheduled          Normal
//	                                    (or NormalAtOnce)
//	PreparingNormal             keep    preNormal complete                       Normal
//	PreparingNormal             keep    else                                     (stays)          waits for the hook
//	"", PreparingNormal, Normal update  inPlaceUpdate held                       PreparingUpdate
//	"", PreparingNormal, Normal update  inPlaceUpdate not held                   Updating         start
//	PreparingUpdate             update  inPlaceUpdate held                       (stays)          waits
//	PreparingUpdate             update  inPlaceUpdate not held                   Updating         start
//	PreparingUpdate             keep    at the wanted revision, or its update    Normal
//	                                    is not wanted any more; hook complete
//	                                    or no lifecycle
//	PreparingUpdate             keep    the same, else                           Updated
//	PreparingUpdate             keep    its update is still wanted               (stays)
//	Updating                    update  –                                        Updating         start
//	Updating                    keep    done, hook complete or no lifecycle      Normal
//	Updating                    keep    done, else                               Updated
//	Updating                    keep    not done                                 (stays)
//	Updated                     keep    no hook, or hook complete                Normal
//	Updated                     keep    else                                     (stays)          waits
//	Updated                     update  hook exists                              PreparingUpdate  puts the hook back
//	Updated                     update  no hook                                  (stays)          waits for keep
//	PreparingDelete             keep    –                                        (stays)
//	PreparingDelete, unknown    update  –                                        (stays)          refused
//	any but PreparingDelete     delete  preDelete held                           PreparingDelete
//	PreparingDelete             delete  preDelete held                           (stays)          waits
//	any                         delete  preDelete not held                       –                delete
//	PreparingDelete             revive  –                                        PreparingNormal
//	any other                   revive  –                                        (stays)
//	unknown                     keep    –                                        (stays)          waits for a known one
//
// Going back is a change of mind at any of these: a pod in PreparingUpdate is at the wanted revision again and leaves
// without a restart; one in Updating gets the wanted revision on top; one in Updated goes through PreparingUpdate anew.
//
// Entering PreparingDelete with markPodNotReady takes the readiness key preDeleteHook, entering
// PreparingUpdate takes preUpdateHook; Updated and Normal give preUpdateHook back, and
// PreparingNormal gives preDeleteHook back. A scheduled pod whose switch nobody has set gets it set.
package lifecycle
