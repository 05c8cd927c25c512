// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// cronField is one of the five fields of a schedule.
type cronField struct {
	name        string
	least, most int
	names       []string // of least, least+1 and so on
}

var cronFields = []cronField{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of week", 0, 6, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

var cronDescriptors = map[string]bool{
	"@yearly": true, "@annually": true, "@monthly": true, "@weekly": true, "@daily": true, "@midnight": true, "@hourly": true,
}

// checkSchedule says what is wrong with a schedule: five fields or a descriptor, after a time zone if any
// (TZ=Asia/Tokyo 0 4 * * *).
func checkSchedule(schedule string) error {
	if strings.HasPrefix(schedule, "TZ=") || strings.HasPrefix(schedule, "CRON_TZ=") {
		prefix, rest, found := strings.Cut(schedule, " ")
		if !found {
			return errors.New("has a time zone and no fields after it")
		}
		_, zone, _ := strings.Cut(prefix, "=")
		if _, err := time.LoadLocation(zone); err != nil {
			return fmt.Errorf("names time zone %q, which is not known", zone)
		}
		schedule = strings.TrimSpace(rest)
	}
	if strings.HasPrefix(schedule, "@") {
		return checkDescriptor(schedule)
	}
	words := strings.Fields(schedule)
	if len(words) != len(cronFields) {
		return fmt.Errorf("must have five fields (minute, hour, day of month, month, day of week), not %d", len(words))
	}
	for i := range cronFields {
		if err := cronFields[i].check(words[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkDescriptor(schedule string) error {
	if every, found := strings.CutPrefix(schedule, "@every "); found {
		if _, err := time.ParseDuration(every); err != nil {
			return fmt.Errorf("must give @every a duration such as 1h30m, not %q", every)
		}
		return nil
	}
	if !cronDescriptors[schedule] {
		return errors.New("must be one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly and @every <duration>, or five fields")
	}
	return nil
}

// check looks at a list of values, ranges and steps (1,5-9,*/15).
func (f *cronField) check(list string) error {
	parts := strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
	if len(parts) == 0 {
		return fmt.Errorf("has an empty field for %s", f.name)
	}
	for _, part := range parts {
		if err := f.checkPart(part); err != nil {
			return err
		}
	}
	return nil
}

func (f *cronField) checkPart(part string) error {
	span, step, stepped := strings.Cut(part, "/")
	if stepped {
		if every, err := strconv.ParseUint(step, 10, 31); err != nil || every == 0 {
			return fmt.Errorf("has a step that is no number above 0 for %s: %q", f.name, part)
		}
	}
	first, last, ranged := strings.Cut(span, "-")
	if first == "*" || first == "?" {
		return nil
	}
	from, err := f.value(first)
	if err != nil {
		return err
	}
	if !ranged {
		return nil
	}
	to, err := f.value(last)
	if err != nil {
		return err
	}
	if from > to {
		return fmt.Errorf("has a range that starts after its end for %s: %q", f.name, part)
	}
	return nil
}

func (f *cronField) value(word string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(word, name) {
			return f.least + i, nil
		}
	}
	number, err := strconv.ParseUint(word, 10, 31)
	if err != nil || int(number) < f.least || int(number) > f.most {
		return 0, fmt.Errorf("has %q for %s, which must be between %d and %d", word, f.name, f.least, f.most)
	}
	return int(number), nil
}
