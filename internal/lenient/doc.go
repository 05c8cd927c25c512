// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lenient keeps one object that cannot be read from blinding a cache. The schemas of our kinds leave pod
// templates open, so that an object can be stored, while no webhook looks, whose template no Kubernetes library reads;
// an ordinary informer then lists its kind again and again in vain. This one leaves such objects out, tells of them by a
// log line and metric flotilla_unreadable_objects, and goes on with all others.
//
// To controllers an object that is left out is not there. What it owns stays: nothing here deletes for want of an owner.
package lenient
