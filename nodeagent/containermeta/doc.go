// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package containermeta reports what runs in the pods of its node: it keeps the annotation
// apps.kruise.io/runtime-containers-meta of a pod equal to the container instances of the pod's status,
// each with the hashes of the spec and the metadata it was made from. In-place updates read it.
//
// It promises:
//   - Pods reported: those controlled by an object of the group apps.kruise.io and those with an injected
//     sidecar, unless they are being deleted or have ended. A pod that ran before the agent started and was
//     never reported is left alone until one of its containers starts anew or an in-place update of it
//     begins, so that a first start does not write to every pod.
//   - One container with no ID yet, or one that the runtime does not know or is slow to tell of, does not
//     keep the others from being reported.
//   - What is known of an instance stays: an entry is asked for once in the life of a container ID.
//   - No write when the report says the same, whatever its spelling; no call to the runtime either.
//   - A write replaces this one annotation, through the pod's status, of the very pod (UID) that was looked at.
//
// The pod's status is what makes a report due, not the runtime's own events: readers compare the report with
// the status, so it must not run ahead of it. Where a pod stands (Reason):
//
//	NotOurs, Deleted, Ended, Settled   nothing to do
//	Current                            the report says what is so
//	Due                                an instance is new, gone, or not fully known -> ask, write
//
// The environment hash of a container whose image has no command env stays unknown (0); reading it is tried
// again after 3 s at first and at last every 2 minutes, and while an in-place update waits for it an event on
// the pod says so.
//
// The Restarter ends the containers whose environment an in-place update has changed, so that the kubelet starts them
// with the new one. Which (RestartReason):
//
//	NoUpdate       no update of the pod that changed such metadata is under way: metadata edited by hand restarts nothing
//	AllFit         each container that runs has the environment it should, or it is not known, or it is left to the kubelet
//	KubeletBehind  the pod is Ready though its gate is closed: the kubelet has not heard of the update yet -> wait
//	EnvOutdated    an instance that runs, and is reported, has another environment than the pod's metadata -> stop it
//
// It promises one restart a change. Only the instance that was reported is stopped, after a last look at the pod past the
// cache and at the runtime, so that an agent that is killed in the middle, or is behind, stops no second one. An instance
// whose spec has changed too is left to the kubelet, which starts it anew anyway. The kubelet must know the new metadata
// by then, and does not say what it knows: so the agent waits until the kubelet has answered the closed gate and for 2 s
// more. Should an instance get the old environment all the same, it is stopped as well, since the update would never end
// otherwise, and each further one after a growing pause (3 s to 10 minutes). Containers that the kubelet would not start
// again (restartPolicy) are left alone. However long one takes to end, no other pod waits for it, another of its
// name neither. Of several in a pod one is stopped after the other, each after its own look at the pod.
package containermeta
