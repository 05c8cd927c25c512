// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import "github.com/spf13/pflag"

// logFlags are flags of klog and of Kubernetes' component-base, which programs of this kind have. Their logs are not ours.
var logFlags = []string{
	"add_dir_header", "alsologtostderr", "log-flush-frequency", "log-json-info-buffer-size", "log-json-split-stream",
	"log-text-info-buffer-size", "log-text-split-stream", "log_backtrace_at", "log_dir", "log_file", "log_file_max_size",
	"logging-format", "logtostderr", "one_output", "skip_headers", "skip_log_headers", "stderrthreshold", "v", "vmodule",
}

// AddFlagsWithoutEffect takes flags that change nothing here, with any value. Who sets one reads why on stderr.
func AddFlagsWithoutEffect(fs *pflag.FlagSet, why string, names ...string) {
	for _, name := range names {
		shorthand := ""
		if len(name) == 1 {
			shorthand = name
		}
		flag := fs.VarPF(new(ignored), name, shorthand, "no effect: "+why)
		flag.NoOptDefVal, flag.Deprecated = "true", "it has no effect: "+why
	}
}

// ignored is the value of a flag without effect, any text.
type ignored string

// Set keeps the text.
func (i *ignored) Set(s string) error { *i = ignored(s); return nil }

// String is the text.
func (i *ignored) String() string { return string(*i) }

// Type is how help calls the value.
func (*ignored) Type() string { return "string" }
