// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package stop

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flotilla-sh/flotilla/internal/seconds"
	"github.com/flotilla-sh/flotilla/nodeagent/cri"
)

// maxAnswer bounds what is read of a hook's answer: of the header of an HTTP answer, or the output of a command, in bytes.
const maxAnswer = 64 << 10

// asker sends the requests of hooks: past any proxy, trusting any certificate as the kubelet does, following nobody
// elsewhere.
var asker = &http.Client{
	Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // the pod's own certificate, as for the kubelet
		DisableKeepAlives: true, MaxResponseHeaderBytes: maxAnswer,
	},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// runHook runs a hook to its end, or that of ctx.
func runHook(ctx context.Context, runtime Runtime, o Order, hook *corev1.LifecycleHandler) error {
	switch {
	case hook.Exec != nil:
		return execute(ctx, runtime, o, hook.Exec.Command)
	case hook.HTTPGet != nil:
		return get(ctx, o, hook.HTTPGet)
	case hook.TCPSocket != nil:
		return dial(ctx, o, hook.TCPSocket)
	case hook.Sleep != nil:
		sleep(ctx, seconds.Of(hook.Sleep.Seconds))
		return nil
	default:
		return fmt.Errorf("it has no action that is known here")
	}
}

func execute(ctx context.Context, runtime Runtime, o Order, cmd []string) error {
	out, err := runtime.ExecSync(cri.WithMaxOutput(ctx, maxAnswer), o.ID, cmd, o.Grace+time.Second) // ctx ends before
	if err == nil && out.ExitCode != 0 {
		err = fmt.Errorf("the command ended with %d", out.ExitCode) // its output may hold secrets, and events have other readers
	}
	return err
}

// get is done with any answer, whatever its status.
func get(ctx context.Context, o Order, action *corev1.HTTPGetAction) error {
	address, err := addressOf(o, action.Host, action.Port)
	if err != nil {
		return err
	}
	path, query, _ := strings.Cut(action.Path, "?")
	target := url.URL{Scheme: "http", Host: address, Path: path, RawQuery: query}
	if action.Scheme == corev1.URISchemeHTTPS {
		target.Scheme = "https"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return err
	}
	for _, h := range action.HTTPHeaders {
		if http.CanonicalHeaderKey(h.Name) == "Host" {
			request.Host = h.Value
		}
		request.Header.Add(h.Name, h.Value)
	}
	response, err := asker.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func dial(ctx context.Context, o Order, action *corev1.TCPSocketAction) error {
	address, err := addressOf(o, action.Host, action.Port)
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}

// addressOf resolves a hook's host, the pod where none is named, and port.
func addressOf(o Order, host string, port intstr.IntOrString) (string, error) {
	if host == "" {
		host = o.Pod.Status.PodIP
	}
	if host == "" {
		return "", fmt.Errorf("the pod has no address")
	}
	number, err := portOf(o, port)
	if err != nil {
		return "", err
	}
	return net.JoinHostPort(host, fmt.Sprint(number)), nil
}

func portOf(o Order, port intstr.IntOrString) (int, error) {
	if port.Type == intstr.Int {
		return port.IntValue(), nil
	}
	if c := containerOf(o); c != nil {
		for _, p := range c.Ports {
			if p.Name == port.StrVal {
				return int(p.ContainerPort), nil
			}
		}
	}
	if n := port.IntValue(); n > 0 {
		return n, nil
	}
	return 0, fmt.Errorf("the container has no port named %q", port.StrVal)
}

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
