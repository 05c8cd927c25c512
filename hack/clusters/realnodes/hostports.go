// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package realnodes

import (
	"errors"
	"slices"
	"strings"
)

// The chains in which the CNI plugin portmap keeps the host ports of all pods on the machine. It makes them when the
// first pod wants one, and never removes them.
const (
	hostPortDNAT       = "CNI-HOSTPORT-DNAT"
	hostPortMasquerade = "CNI-HOSTPORT-MASQ"
	hostPortMark       = "CNI-HOSTPORT-SETMARK"
)

// removeHostPorts removes what is left of the host ports of the set's pods, and the plugin's chains where they serve
// nobody else.
func (p place) removeHostPorts() error {
	rules, err := natRules()
	if err != nil {
		return err
	}
	var errs []error
	for _, rule := range rules {
		if chain := p.hostPortChain(rule); chain != "" {
			errs = append(errs, nat("--delete", rule[1:]...), nat("--flush", chain), nat("--delete-chain", chain))
		}
	}
	return errors.Join(append(errs, removeUnusedChains())...)
}

// removeUnusedChains removes the plugin's chains, and the rules that lead to them, where no pod has a host port.
func removeUnusedChains() error {
	rules, err := natRules()
	if err != nil || hasRules(rules, hostPortDNAT) {
		return err
	}
	chains := []string{hostPortDNAT, hostPortMasquerade, hostPortMark}
	var errs []error
	for _, rule := range rules {
		switch {
		case rule[0] == "-A" && slices.Contains(chains, rule[len(rule)-1]):
			errs = append(errs, nat("--delete", rule[1:]...))
		case rule[0] == "-N" && slices.Contains(chains, rule[1]):
			errs = append(errs, nat("--flush", rule[1]))
		}
	}
	for _, rule := range rules {
		if rule[0] == "-N" && slices.Contains(chains, rule[1]) {
			errs = append(errs, nat("--delete-chain", rule[1]))
		}
	}
	return errors.Join(errs...)
}

// hostPortChain returns the chain a rule of the plugin leads to if it is for a pod of the set, and "" otherwise.
func (p place) hostPortChain(rule []string) string {
	if len(rule) < 4 || rule[1] != hostPortDNAT {
		return ""
	}
	for _, word := range rule {
		if strings.HasPrefix(word, `dnat name: "`+p.link()+"-") {
			return rule[len(rule)-1]
		}
	}
	return ""
}

func hasRules(rules [][]string, chain string) bool {
	for _, rule := range rules {
		if rule[0] == "-A" && rule[1] == chain {
			return true
		}
	}
	return false
}

// natRules are the chains and rules of the nat table, in words. There are none without iptables.
func natRules() ([][]string, error) {
	if _, err := systemProgram("iptables"); err != nil {
		return nil, nil //nolint:nilerr // without iptables there are no rules
	}
	out, err := iptables("--list-rules", "--table", "nat")
	var rules [][]string
	for line := range strings.Lines(out) {
		if words := splitWords(strings.TrimSpace(line)); len(words) > 1 {
			rules = append(rules, words)
		}
	}
	return rules, err
}

func nat(command string, args ...string) error {
	_, err := iptables(command, append(args, "--table", "nat")...)
	return err
}

// splitWords splits at blanks outside double quotes; a backslash takes the next character as it is.
func splitWords(line string) []string {
	var words []string
	var word strings.Builder
	quoted, escaped, begun := false, false, false
	for _, r := range line {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\':
			escaped, begun = true, true
		case r == '"':
			quoted, begun = !quoted, true
		case r == ' ' && !quoted:
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if begun {
		words = append(words, word.String())
	}
	return words
}
