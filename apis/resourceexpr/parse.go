// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package resourceexpr

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Evaluate computes an expression with the given variables, whose names are in lower case. Errors say what
// cannot be read or computed; a result below zero is one.
func Evaluate(text string, variables map[string]Value) (Value, error) {
	if len(text) > longest {
		return Value{}, fmt.Errorf("has more than %d characters", longest)
	}
	p := parser{rest: text, variables: variables}
	value, err := p.sum(0)
	if err != nil {
		return Value{}, err
	}
	if p.skip(); p.rest != "" {
		return Value{}, fmt.Errorf("unexpected %q", p.rest)
	}
	return sound(value)
}

const (
	// longest is how many characters an expression may have.
	longest = 4096
	// deepest is how many parentheses and signs may be open at once.
	deepest = 200
)

// parser computes while it reads: what has been read is gone from rest.
type parser struct {
	rest      string
	variables map[string]Value
}

func (p *parser) skip() { p.rest = strings.TrimLeft(p.rest, " \t\n\r") }

// next takes one of the given characters, or 0.
func (p *parser) next(characters string) byte {
	p.skip()
	if p.rest == "" || !strings.Contains(characters, p.rest[:1]) {
		return 0
	}
	taken := p.rest[0]
	p.rest = p.rest[1:]
	return taken
}

func (p *parser) sum(depth int) (Value, error) {
	value, err := p.product(depth)
	for err == nil {
		sign := 1.0
		switch p.next("+-") {
		case 0:
			return value, nil
		case '-':
			sign = -1
		}
		var operand Value
		if operand, err = p.product(depth); err == nil {
			value, err = add(value, operand, sign)
		}
	}
	return Value{}, err
}

func (p *parser) product(depth int) (Value, error) {
	value, err := p.operand(depth)
	for err == nil {
		compute := multiply
		switch p.next("*/") {
		case 0:
			return value, nil
		case '/':
			compute = divide
		}
		var operand Value
		if operand, err = p.operand(depth); err == nil {
			value, err = compute(value, operand)
		}
	}
	return Value{}, err
}

// operand reads a number, a name, something in parentheses, or one of these after a minus.
func (p *parser) operand(depth int) (Value, error) {
	if depth > deepest {
		return Value{}, errors.New("is nested too deeply")
	}
	switch p.next("-(") {
	case '-':
		value, err := p.operand(depth + 1)
		return negated(value), err
	case '(':
		value, err := p.sum(depth + 1)
		if err == nil && p.next(")") == 0 {
			err = errors.New("a closing parenthesis is missing")
		}
		return value, err
	}
	switch {
	case p.rest == "":
		return Value{}, errors.New("ends where a number or a name is wanted")
	case isDigit(p.rest[0]) || p.rest[0] == '.':
		return p.literal()
	case isLetter(p.rest[0]):
		return p.named(strings.ToLower(p.take(isLetterOrDigit)), depth)
	default:
		return Value{}, fmt.Errorf("unexpected %q", p.rest[:1])
	}
}

// named is a variable or a function.
func (p *parser) named(name string, depth int) (Value, error) {
	choose := map[string]func(a, b Value) Value{"max": larger, "min": smaller}[name]
	if choose == nil {
		value, known := p.variables[name]
		if !known {
			return Value{}, fmt.Errorf("undefined variable %s", name)
		}
		return value, nil
	}
	wrong := fmt.Errorf("%s needs two arguments in parentheses", name)
	if p.next("(") == 0 {
		return Value{}, wrong
	}
	first, err := p.sum(depth + 1)
	if err != nil {
		return Value{}, err
	}
	if p.next(",") == 0 {
		return Value{}, wrong
	}
	second, err := p.sum(depth + 1)
	if err != nil {
		return Value{}, err
	}
	if p.next(")") == 0 {
		return Value{}, wrong
	}
	return choose(first, second), nil
}

// suffixes are the units of quantities, in thousandths.
var suffixes = map[string]float64{
	"m": 1, "k": 1e6, "M": 1e9, "G": 1e12, "T": 1e15, "P": 1e18,
	"Ki": 1000 << 10, "Mi": 1000 << 20, "Gi": 1000 << 30, "Ti": 1000 << 40, "Pi": 1000 << 50,
}

// literal is a number, a percentage or a quantity.
func (p *parser) literal() (Value, error) {
	digits := p.take(func(c byte) bool { return isDigit(c) || c == '.' })
	digits += p.exponent()
	number, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return Value{}, fmt.Errorf("%s is no number", digits)
	}
	if strings.HasPrefix(p.rest, "%") {
		p.rest = p.rest[1:]
		return bounded(Number(number / 100))
	}
	unit := p.take(isLetter)
	if unit == "" {
		return bounded(Number(number))
	}
	thousandths, known := suffixes[unit]
	if !known {
		return Value{}, fmt.Errorf("%s%s has an unknown unit", digits, unit)
	}
	return scaled(Quantity(1), number*thousandths)
}

// exponent takes e, a sign and digits, if there are digits.
func (p *parser) exponent() string {
	if p.rest == "" || p.rest[0] != 'e' && p.rest[0] != 'E' {
		return ""
	}
	end := 1
	if end < len(p.rest) && (p.rest[end] == '+' || p.rest[end] == '-') {
		end++
	}
	start := end
	for end < len(p.rest) && isDigit(p.rest[end]) {
		end++
	}
	if end == start {
		return ""
	}
	taken := p.rest[:end]
	p.rest = p.rest[end:]
	return taken
}

func (p *parser) take(wanted func(byte) bool) string {
	end := 0
	for end < len(p.rest) && wanted(p.rest[end]) {
		end++
	}
	taken := p.rest[:end]
	p.rest = p.rest[end:]
	return taken
}

func isDigit(c byte) bool         { return '0' <= c && c <= '9' }
func isLetter(c byte) bool        { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }
func isLetterOrDigit(c byte) bool { return isDigit(c) || isLetter(c) }
