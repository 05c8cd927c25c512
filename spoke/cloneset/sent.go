// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package cloneset

import (
	"bytes"
	"encoding/json"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	appsv1beta1 "github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// sent remembers the status last sent of each set, to know it again when the cache tells of it. It is safe for
// concurrent use.
type sent struct {
	mu     sync.Mutex
	status map[types.UID][]byte
}

// remember is called before the status is sent: the cache may be faster than the answer.
func (s *sent) remember(set *appsv1beta1.CloneSet) {
	raw, err := json.Marshal(&set.Status)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status == nil {
		s.status = map[types.UID][]byte{}
	}
	s.status[set.UID] = raw
}

// is says whether the set has the status that was sent last.
func (s *sent) is(set *appsv1beta1.CloneSet) bool {
	raw, err := json.Marshal(&set.Status)
	s.mu.Lock()
	defer s.mu.Unlock()
	return err == nil && bytes.Equal(raw, s.status[set.UID])
}

func (s *sent) forget(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.status, uid)
}
