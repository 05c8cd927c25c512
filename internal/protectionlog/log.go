// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package protectionlog

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// fileName of the record, in the folder that the user names.
const fileName = "protection.log"

// Event says what refused.
type Event string

// The events.
const (
	DeletionProtection   Event = "DeletionProtection"
	PodUnavailableBudget Event = "PodUnavailableBudget"
)

// Entry is one line.
type Entry struct {
	Event Event
	// Kind, Namespace and Name of the object that was protected; Namespace is empty of what has none.
	Kind, Namespace, Name string
	// UserAgent is, in spite of its name, the user who asked.
	UserAgent string
}

// Log is where lines go. Nil drops them.
type Log struct {
	mu  sync.Mutex
	out io.Writer
}

// Open opens the record in a folder, which it makes where it is missing. Of an empty folder it returns nil.
func Open(folder string) (*Log, error) {
	if folder == "" {
		return nil, nil
	}
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return nil, fmt.Errorf("folder of the protection log: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(folder, fileName), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("protection log: %w", err)
	}
	return &Log{out: file}, nil
}

// Write appends a line.
func (l *Log) Write(e Entry) error {
	if l == nil {
		return nil
	}
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.out.Write(append(line, '\n'))
	return err
}
