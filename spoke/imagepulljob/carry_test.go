// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package imagepulljob

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/flotilla-sh/flotilla/apis/apps/v1beta1"
)

// All nodes are written though some fail, so many at a time and no more.
func TestEach(t *testing.T) {
	var nodes []*v1beta1.NodeImage
	for i := range 40 {
		node := &v1beta1.NodeImage{}
		node.Name = fmt.Sprint(i)
		nodes = append(nodes, node)
	}
	full := make(chan struct{})
	var now, most, done atomic.Int32
	err := errors.Join(each(nodes, func(node *v1beta1.NodeImage) error {
		n := now.Add(1)
		if n == asksAtOnce && most.Swap(n) < asksAtOnce {
			close(full)
		}
		<-full
		most.Store(max(most.Load(), n))
		done.Add(1)
		now.Add(-1)
		if strings.HasSuffix(node.Name, "7") {
			return errors.New("no " + node.Name)
		}
		return nil
	})...)
	if done.Load() != 40 || most.Load() != asksAtOnce {
		t.Errorf("%d nodes, %d at once", done.Load(), most.Load())
	}
	if err == nil || err.Error() != "no 7\nno 17\nno 27\nno 37" {
		t.Errorf("error %v", err)
	}
}
