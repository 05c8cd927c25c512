// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

// Package protectionlog is the record of what protection refused: file protection.log in a folder of the user's
// choice, one JSON object a line, with the keys that OpenKruise's has. Without a folder there is no file. Lines are
// appended whole and nothing is kept in memory, so that the file may be cut or replaced by a rotation that copies and
// truncates.
package protectionlog
