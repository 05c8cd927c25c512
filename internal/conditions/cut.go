// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import "strings"

// Cut returns a text that fits into a status: at most limit bytes, which must be 3 or more, cut at a
// rune's end. What is no UTF-8 in it is replaced as storing it would: otherwise the stored text would
// never equal the computed one.
func Cut(text string, limit int) string {
	const dots = "…"
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(dots)], "") + dots
}
