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

func TestPairsAreBounded(t *testing.T) {
	series, shown := MostSeries(1000), map[[2]string]bool{}
	for i := range 3000 {
		object, user := series.Of(fmt.Sprint(i), fmt.Sprint("user", i%1500))
		shown[[2]string{object, user}] = true
	}
	if len(shown) < 1000 || len(shown) > 1302 {
		t.Errorf("%d pairs are shown", len(shown))
	}
	if object, user := series.Of("0", ""); object != Other || user != Other {
		t.Errorf("late ones are shown as %s, %s", object, user)
	}
	if object, user := series.Of("0", "user0"); object != "0" || user != "user0" {
		t.Errorf("the first one is shown as %s, %s", object, user)
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
