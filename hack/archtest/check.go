// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package archtest

import (
	"fmt"
	"slices"
	"strings"
)

// Package is what the rules look at: where a package is, and what it imports. Tests' imports are no
// part of it.
type Package struct {
	ImportPath string
	Imports    []string // directly
	Deps       []string // by any way
}

// Check returns a line for each breach of the rules: which package, which import, and why not.
func Check(packages []Package) []string {
	var breaches []string
	for _, p := range packages {
		folder, ours := folderOf(p.ImportPath)
		if !ours {
			continue
		}
		breaches = append(breaches, checkLayers(folder, p.Imports)...)
		breaches = append(breaches, checkReservations(folder, p)...)
		breaches = append(breaches, checkConfinements(folder, p.Imports)...)
		breaches = append(breaches, checkPurity(folder, p.Deps)...)
	}
	slices.Sort(breaches)
	return slices.Compact(breaches)
}

// folderOf returns the folder of a package of this module.
func folderOf(importPath string) (string, bool) {
	if importPath == Module {
		return ".", true
	}
	return strings.CutPrefix(importPath, Module+"/")
}

// layerOf returns the layer of a folder.
func layerOf(folder string) (Layer, bool) {
	for _, p := range places {
		if matches(p.pattern, folder) {
			return p.layer, true
		}
	}
	return 0, false
}

func matches(pattern, folder string) bool {
	if root, deep := strings.CutSuffix(pattern, "/**"); deep {
		return within(root, folder)
	}
	if root, shallow := strings.CutSuffix(pattern, "/*"); shallow {
		rest, below := strings.CutPrefix(folder, root+"/")
		return below && !strings.Contains(rest, "/")
	}
	return pattern == folder
}

func matchesAny(patterns []string, folder string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(pattern, folder) })
}

// within says whether a path is a root or below it.
func within(root, path string) bool { return path == root || strings.HasPrefix(path, root+"/") }

func checkLayers(folder string, imports []string) []string {
	layer, placed := layerOf(folder)
	if !placed {
		return []string{fmt.Sprintf("%s is in no layer: add it to hack/archtest/rules.go", folder)}
	}
	var breaches []string
	for _, path := range imports {
		other, ours := folderOf(path)
		if !ours {
			continue
		}
		if reason := forbidden(folder, other, layer); reason != "" {
			breaches = append(breaches, fmt.Sprintf("%s imports %s: %s", folder, other, reason))
		}
	}
	return breaches
}

// forbidden says why a folder may not import another of this module; nothing when it may.
func forbidden(folder, other string, layer Layer) string {
	otherLayer, placed := layerOf(other)
	if !placed {
		return "that is in no layer: add it to hack/archtest/rules.go"
	}
	switch {
	case strangers(folder, other):
		return "components never import each other: they meet in apis"
	case layer == Outside && otherLayer > Internal && otherLayer != Outside:
		return "what is no part of the product sees apis, generated and internal only"
	case otherLayer > layer:
		return "lower layers never import higher ones"
	case otherLayer == layer && !open[layer] && !allowed(folder, other):
		return "siblings never import siblings"
	}
	return ""
}

// strangers says whether two folders are parts of different components.
func strangers(folder, other string) bool {
	a, b := componentOf(folder), componentOf(other)
	return a != "" && b != "" && a != b
}

func componentOf(folder string) string {
	for _, component := range components {
		if within(component, folder) {
			return component
		}
	}
	return ""
}

func allowed(from, to string) bool {
	return slices.ContainsFunc(siblings, func(a allowance) bool { return matches(a.from, from) && matches(a.to, to) })
}

func checkReservations(folder string, p Package) []string {
	var breaches []string
	for _, r := range reservations {
		if matchesAny(r.only, folder) {
			continue
		}
		imports := p.Imports
		if r.deep {
			imports = p.Deps
		}
		for _, path := range imports {
			if isBelow(r.imports, path) {
				breaches = append(breaches, fmt.Sprintf("%s imports %s: %s", folder, shown(path), r.because))
			}
		}
	}
	return breaches
}

func checkConfinements(folder string, imports []string) []string {
	var breaches []string
	for _, c := range confinements {
		if !matches(c.pattern, folder) {
			continue
		}
		for _, path := range imports {
			if !standard(path) && !isBelow(c.to, path) {
				breaches = append(breaches, fmt.Sprintf("%s imports %s: %s", folder, shown(path), c.because))
			}
		}
	}
	return breaches
}

func checkPurity(folder string, deps []string) []string {
	var breaches []string
	for _, p := range pure {
		if !matches(p.pattern, folder) {
			continue
		}
		for _, path := range deps {
			if isBelow(clients, path) {
				breaches = append(breaches, fmt.Sprintf("%s imports %s, perhaps by way of others: %s", folder, path, p.because))
				break
			}
		}
	}
	return breaches
}

// isBelow says whether a path is one of the given folders or import paths, or below it.
func isBelow(roots []string, path string) bool {
	folder, ours := folderOf(path)
	return slices.ContainsFunc(roots, func(root string) bool {
		return within(root, path) || ours && within(root, folder)
	})
}

// shown is a path as people name it.
func shown(path string) string {
	if folder, ours := folderOf(path); ours {
		return folder
	}
	return path
}

// standard says whether a package is of the standard library.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}
