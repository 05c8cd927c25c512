// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package resourceexpr

import (
	"errors"
	"fmt"
	"math"
	"strconv"
)

// Value is a number, or a quantity in thousandths.
type Value struct {
	number   float64
	milli    int64
	quantity bool
}

// Number makes a number.
func Number(number float64) Value { return Value{number: number} }

// Quantity makes a quantity of so many thousandths.
func Quantity(milli int64) Value { return Value{milli: milli, quantity: true} }

// IsQuantity says whether the value is a quantity, not a number.
func (v Value) IsQuantity() bool { return v.quantity }

// Number is the value as a number: a quantity counts whole ones.
func (v Value) Number() float64 {
	if v.quantity {
		return float64(v.milli) / 1000
	}
	return v.number
}

// Milli is the value in thousandths, cut off.
func (v Value) Milli() int64 {
	if v.quantity {
		return v.milli
	}
	return int64(v.number * 1000)
}

// String is the value as an expression may have it.
func (v Value) String() string {
	if v.quantity {
		return strconv.FormatInt(v.milli, 10) + "m"
	}
	return strconv.FormatFloat(v.number, 'g', -1, 64)
}

// most is the largest number of thousandths that computes without loss of sign.
const most = float64(math.MaxInt64 / 2)

// bounded refuses what has no place in a quantity.
func bounded(v Value) (Value, error) {
	if math.IsNaN(v.number) || math.Abs(v.number)*1000 > most || math.Abs(float64(v.milli)) > most {
		return Value{}, errors.New("a result is too large")
	}
	return v, nil
}

// asQuantities makes both quantities where one is.
func asQuantities(a, b Value) (Value, Value) {
	if a.quantity != b.quantity {
		return Quantity(a.Milli()), Quantity(b.Milli())
	}
	return a, b
}

func add(a, b Value, sign float64) (Value, error) {
	a, b = asQuantities(a, b)
	if a.quantity {
		return bounded(Quantity(a.milli + int64(sign)*b.milli))
	}
	return bounded(Number(a.number + sign*b.number))
}

func multiply(a, b Value) (Value, error) {
	switch {
	case a.quantity && b.quantity:
		return Value{}, errors.New("multiplication of two quantities")
	case a.quantity:
		return scaled(a, b.number)
	case b.quantity:
		return scaled(b, a.number)
	default:
		return bounded(Number(a.number * b.number))
	}
}

func divide(a, b Value) (Value, error) {
	switch {
	case b.quantity:
		return Value{}, errors.New("division by quantity")
	case b.number == 0:
		return Value{}, errors.New("division by zero")
	case a.quantity:
		return scaled(a, 1/b.number)
	default:
		return bounded(Number(a.number / b.number))
	}
}

// scaled multiplies a quantity by a number, cut off at thousandths.
func scaled(q Value, by float64) (Value, error) {
	product := float64(q.milli) * by
	if math.IsNaN(product) || math.Abs(product) > most {
		return Value{}, errors.New("a result is too large")
	}
	return Quantity(int64(product)), nil
}

func larger(a, b Value) Value {
	a, b = asQuantities(a, b)
	if a.Number() >= b.Number() {
		return a
	}
	return b
}

func smaller(a, b Value) Value {
	a, b = asQuantities(a, b)
	if a.Number() <= b.Number() {
		return a
	}
	return b
}

// negated turns the sign round.
func negated(v Value) Value { return Value{number: -v.number, milli: -v.milli, quantity: v.quantity} }

// sound refuses a final result below zero.
func sound(v Value) (Value, error) {
	if v.number < 0 || v.milli < 0 {
		return Value{}, fmt.Errorf("calculation result is negative: %s", v)
	}
	return v, nil
}
