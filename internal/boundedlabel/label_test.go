// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package boundedlabel

import (
	"fmt"
	"sync"
	"testing"
)

func TestTheFirstAreKept(t *testing.T) {
	values := Most(2)
	for _, tc := range [][2]string{{"a", "a"}, {"b", "b"}, {"c", Other}, {"a", "a"}, {"c", Other}, {"b", "b"}} {
		if got := values.Of(tc[0]); got != tc[1] {
			t.Errorf("%s is shown as %s, want %s", tc[0], got, tc[1])
		}
	}
}

func TestPeopleTakeNoRoomOfServiceAccounts(t *testing.T) {
	users := NewUsers()
	shown := map[string]bool{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			name := users.Of(fmt.Sprintf("person-%d", i))
			mu.Lock()
			defer mu.Unlock()
			shown[name] = true
		})
	}
	wg.Wait()
	if len(shown) != mostPeople+1 || !shown[Other] {
		t.Errorf("%d names are shown", len(shown))
	}
	if got := users.Of("system:serviceaccount:shop:robot"); got != "system:serviceaccount:shop:robot" {
		t.Error(got)
	}
}
