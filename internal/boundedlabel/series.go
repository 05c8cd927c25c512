// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package boundedlabel

import "cmp"

// Series are pairs of an object and a user, which a metric has as two labels. Make one with MostSeries.
type Series struct {
	pairs *Values
	users Users
}

// MostSeries returns labels of at most n pairs; of later ones the object is Other, and so is who is no longer among
// the first users: at most 302 series more.
func MostSeries(n int) *Series { return &Series{pairs: Most(n), users: NewUsers()} }

// Of returns object and user as the labels show them. An empty user is "unknown".
func (s *Series) Of(object, user string) (shownObject, shownUser string) {
	user = s.users.Of(cmp.Or(user, "unknown"))
	if s.pairs.Of(object+" "+user) == Other {
		object = Other
	}
	return object, user
}
