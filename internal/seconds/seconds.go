// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package seconds

import (
	"math"
	"time"
)

// Most is the longest duration that Of returns, 100 years: something may be added to it without an overflow.
const Most = 100 * 365 * 24 * time.Hour

// Of returns n seconds, at most Most and at least its negative.
func Of[N ~int32 | ~int64](n N) time.Duration {
	most := int64(math.Floor(Most.Seconds()))
	return time.Duration(max(-most, min(int64(n), most))) * time.Second
}
