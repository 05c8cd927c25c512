// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/flotilla-sh/flotilla/internal/bootstrap"
	"github.com/flotilla-sh/flotilla/internal/webhookserver"
)

// parse reads a command line as the spoke does.
func parse(t *testing.T, args ...string) (base *bootstrap.Options, opts *Options, err error) {
	t.Helper()
	base, opts = bootstrap.NewOptions("flotilla-spoke"), &Options{}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.SetOutput(io.Discard)
	base.AddFlags(fs)
	webhookserver.NewOptions(base.Component, base.Namespace).AddFlags(fs)
	opts.AddFlags(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return base, opts, opts.validate()
}

// The spoke takes the command line of OpenKruise's manager, every flag of spec 8.1 at its default, and what has an effect
// has it.
func TestTakesTheFlagsOfOpenKruise(t *testing.T) {
	args := strings.Fields(`--metrics-addr=:8080 --health-probe-addr=:8000 --allow-privileged=true --enable-leader-election=true
		--leader-election-namespace=kruise-system --leader-election-id=kruise-manager --leader-election-resource-lock=leases
		--leader-election-lease-duration=20s --leader-election-renew-deadline=12s --leader-election-retry-period=3s
		--enable-pprof=true --pprof-addr=:8090 --sync-period=1h --rest-config-qps=30 --rest-config-burst=50
		--controller-cache-sync-timeout=3m --webhook-initialize-timeout=60s --default-ttlseconds-for-always-nodeimage=300
		--feature-gates=PodWebhook=true --logging-format=text --v=4 --rate-limiter-base-delay=5ms --rate-limiter-max-delay=1000s
		--rate-limiter-qps=10 --rate-limiter-bucket-size=100 --disable-no-deepcopy=false --expectation-timeout=5m
		--protection-log-path=/log --ws-enabled-versioned-status=deployment,replicaset --assign-bcj-pods-by-scheduler=true
		--logtostderr=true --alsologtostderr=false --stderrthreshold=2 --vmodule= --log-flush-frequency=5s --log_dir= --log_file=
		--log_file_max_size=1800 --skip_headers=false --skip_log_headers=false --add_dir_header=false --one_output=false
		--log_backtrace_at=:0 --log-json-info-buffer-size=0 --log-json-split-stream=false --log-text-info-buffer-size=0
		--log-text-split-stream=false --assign-pods-by-scheduler=true --cloneset-scaling-exclude-preparing-delete=true --nodeimage-creation-delay=30s`)
	for _, kind := range strings.Fields(`advancedcronjob broadcastjob cloneset crr daemonset imagepulljob nodeimage nodepodprobe
		persistentpodstate podprobemarker podunavailablebudget resourcedistribution sidecarset sidecarterminator statefulset
		uniteddeployment workloadspread`) {
		args = append(args, "--"+kind+"-workers=7")
	}
	base, opts, err := parse(t, args...)
	if err != nil {
		t.Fatal(err)
	}
	want := []any{20 * time.Second, 12 * time.Second, 3 * time.Second, time.Hour, 3 * time.Minute, ":8090", float32(30), 50}
	got := []any{base.LeaseDuration, base.RenewDeadline, base.RetryPeriod, base.SyncPeriod, base.CacheSyncTimeout, base.ProfileAddr, base.QPS, base.Burst}
	if d := cmp.Diff(want, got); d != "" || !opts.ExcludePreparingDelete {
		t.Error(d, opts.ExcludePreparingDelete)
	}
	concurrency := opts.Concurrency()
	for _, w := range workerFlags {
		if concurrency[w.kind] != 7 {
			t.Errorf("%s: %d at once", w.kind, concurrency[w.kind])
		}
	}
}

func TestFlagsAreChecked(t *testing.T) {
	for arg, want := range map[string]string{
		"--cloneset-workers=0":                              "--cloneset-workers is 0, must be at least 1",
		"--default-ttlseconds-for-always-nodeimage=-1":      "--default-ttlseconds-for-always-nodeimage is -1, must be 0 to 2678400",
		"--default-ttlseconds-for-always-nodeimage=2678401": "--default-ttlseconds-for-always-nodeimage is 2678401, must be 0 to 2678400",
		"--hub-kubeconfig=hub":                              "--hub-kubeconfig needs --cluster-name, the name of this cluster on the hub",
		"--default-ttlseconds-for-always-nodeimage=2678400": "",
		"--crr-workers=1":                                   "",
	} {
		_, _, err := parse(t, arg)
		if got := message(err); got != want {
			t.Errorf("%s: %q", arg, got)
		}
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Who sets a flag without effect reads why.
func TestFlagsWithoutEffectSayWhy(t *testing.T) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	said := &strings.Builder{}
	fs.SetOutput(said)
	bootstrap.NewOptions("flotilla-spoke").AddFlags(fs)
	addFlagsWithoutEffect(fs)
	if err := fs.Parse([]string{"-v=4", "--allow-privileged"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"it has no effect: use --zap-encoder", "--allow-privileged has been deprecated, it has no effect: templates"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("%q does not say %q", said, want)
		}
	}
}
