// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package boundedlabel

import (
	"strings"
	"sync"
)

const (
	// Other is the value of all those that came too late.
	Other = "other"

	serviceAccount = "system:serviceaccount:"
	// mostAccounts and mostPeople are how many names of users a metric has.
	mostAccounts, mostPeople = 200, 100
)

// Values are those that a label has had. Make one with Most.
type Values struct {
	most int
	mu   sync.Mutex
	seen map[string]bool
}

// Most returns a label of at most that many values, beside Other.
func Most(n int) *Values { return &Values{most: n, seen: map[string]bool{}} }

// Of returns the value as the label shows it.
func (v *Values) Of(value string) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.seen[value] {
		return value
	}
	if len(v.seen) >= v.most {
		return Other
	}
	v.seen[value] = true
	return value
}

// Users are names of users. Service accounts have room of their own, which people cannot take.
type Users struct{ accounts, people *Values }

// NewUsers returns a label of at most 200 service accounts and 100 other users, beside Other.
func NewUsers() Users { return Users{accounts: Most(mostAccounts), people: Most(mostPeople)} }

// Of returns the name as the label shows it.
func (u Users) Of(name string) string {
	if strings.HasPrefix(name, serviceAccount) {
		return u.accounts.Of(name)
	}
	return u.people.Of(name)
}
