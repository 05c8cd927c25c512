// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package resourceexpr

import (
	"strings"
	"testing"
)

func TestEvaluate(t *testing.T) {
	variables := map[string]Value{"cpu": Quantity(400), "memory": Quantity(800 << 20 * 1000), "one": Number(1)}
	cases := map[string]struct{ want, fails string }{
		"1 + 2*3":                        {want: "7"},
		"(1 + 2)*3":                      {want: "9"},
		"8/4/2":                          {want: "1"},
		"10 - 4 - 3":                     {want: "3"},
		"-1 + 2":                         {want: "1"},
		"--1":                            {want: "1"},
		"2 * -3 + 7":                     {want: "1"},
		"1.5e2":                          {want: "150"},
		"1e-1":                           {want: "0.1"},
		".5":                             {want: "0.5"},
		"50%":                            {want: "0.5"},
		"200%*2":                         {want: "4"},
		"50m":                            {want: "50m"},
		"0.5k":                           {want: "500000m"},
		"1Ki":                            {want: "1024000m"},
		"1Pi":                            {want: "1125899906842624000m"},
		"cpu":                            {want: "400m"},
		"CPU*50%":                        {want: "200m"},
		"max(cpu*50%, 50m)":              {want: "200m"},
		"Max( cpu * 10% , 50m )":         {want: "50m"},
		"min(cpu, 1)":                    {want: "400m"},
		"MIN(2, 1)":                      {want: "1"},
		"max(min(1, 2), 3)":              {want: "3"},
		"cpu*50% + 100m":                 {want: "300m"},
		"cpu + 0.0019":                   {want: "401m"},
		"cpu/3":                          {want: "133m"},
		"3*cpu":                          {want: "1200m"},
		"cpu - cpu":                      {want: "0m"},
		"one*one":                        {want: "1"},
		"1/one":                          {want: "1"},
		"max(memory*20% + 100Mi, 200Mi)": {want: "272629760000m"},
		"0.5*cpu - 0.3*max(0, cpu-4) + 0.3*max(0, cpu-8)": {want: "200m"},
		"":                               {fails: "ends where"},
		"1 +":                            {fails: "ends where"},
		"(1":                             {fails: "closing parenthesis"},
		"1)":                             {fails: "unexpected"},
		"1 2":                            {fails: "unexpected"},
		"1,2":                            {fails: "unexpected"},
		"+1":                             {fails: "unexpected"},
		"cpu*cpu":                        {fails: "multiplication of two quantities"},
		"1/cpu":                          {fails: "division by quantity"},
		"cpu/50m":                        {fails: "division by quantity"},
		"1/0":                            {fails: "division by zero"},
		"cpu/(1-1)":                      {fails: "division by zero"},
		"1 - 2":                          {fails: "calculation result is negative: -1"},
		"50m - cpu":                      {fails: "calculation result is negative: -350m"},
		"disk":                           {fails: "undefined variable disk"},
		"max(1)":                         {fails: "two arguments"},
		"max(1,2,3)":                     {fails: "two arguments"},
		"max 1":                          {fails: "two arguments"},
		"avg(1,2)":                       {fails: "undefined variable avg"},
		"5E":                             {fails: "unknown unit"},
		"5Ei":                            {fails: "unknown unit"},
		"5mm":                            {fails: "unknown unit"},
		"1.2.3":                          {fails: "no number"},
		"9999P":                          {fails: "too large"},
		"1e300*1e300":                    {fails: "too large"},
		"9Pi*9Pi":                        {fails: "too large"},
		"$":                              {fails: "unexpected"},
		strings.Repeat("(", 500) + "1":   {fails: "nested too deeply"},
		strings.Repeat("-", 500) + "1":   {fails: "nested too deeply"},
		strings.Repeat("1+", 3000) + "1": {fails: "characters"},
	}
	for text, c := range cases {
		got, err := Evaluate(text, variables)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%.40s: got %v, %v; want an error with %q", text, got, err, c.fails)
			}
			continue
		}
		if err != nil || got.String() != c.want {
			t.Errorf("%s: got %v, %v; want %s", text, got, err, c.want)
		}
	}
}

func TestValue(t *testing.T) {
	if n := Number(1.9999); n.Milli() != 1999 || n.Number() != 1.9999 || n.IsQuantity() {
		t.Errorf("a number: %d thousandths", n.Milli())
	}
	if q := Quantity(1500); q.Milli() != 1500 || q.Number() != 1.5 || !q.IsQuantity() {
		t.Errorf("a quantity: %v", q.Number())
	}
}
