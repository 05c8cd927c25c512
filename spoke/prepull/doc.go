// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package prepull has the images of a rollout pulled before the pods that will need them are updated in place: an
// image that is there already makes the update as short as a restart.
//
// Make decides and does no I/O. A revision is settled once: its label says whether pull jobs were made for it
// (apps.kruise.io/pre-predownload-created) or are not needed (apps.kruise.io/image-predownload-ignored), and it is not
// looked at again.
//
//	what is seen                                     what is done
//	no rollout: current and update revision equal    the workload's pull jobs are deleted
//	the revision is labelled                         nothing
//	too few updated pods are ready                   nothing yet
//	pulling ahead would be of no use                 label image-predownload-ignored
//	else                                             one job for each container with another image, label
//	                                                 pre-predownload-created
//
// Puller carries a plan out. A job that the API server refuses for good is told by an event and not tried again;
// other failures are.
package prepull
