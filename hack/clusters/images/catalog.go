// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package images

import "fmt"

// Names of the samples' repositories.
const (
	// Web is a web server with settable version, readiness and slowness; tags v1 to v5 differ, v1-same is v1.
	Web = "web"
	// Nginx is the same server on port 80 under a name that existing manifests use.
	Nginx = "nginx"
	// Sleeper sleeps; tags v1 to v3.
	Sleeper = "sleeper"
	// Busybox is the sleeper under a name that existing manifests use.
	Busybox = "busybox"
	// Crasher exits non-zero after a while; tag v1.
	Crasher = "crasher"
	// Pause is the sandbox image; tag v1.
	Pause = "pause"
)

// PauseImage is the name of the sandbox image.
const PauseImage = "flotilla.local/pause:v1"

// sample says how one image is made. Samples with the same program, version and environment are the same image.
type sample struct {
	repository, tag string
	program         string
	version         string
	env             []string
}

// catalog lists every sample image.
func catalog() []sample {
	var list []sample
	add := func(repository, program string, env []string, versions ...string) {
		for _, v := range versions {
			list = append(list, sample{repository: repository, tag: v, program: program, version: v, env: env})
		}
	}
	add(Web, Web, nil, numbered(5)...)
	list = append(list, sample{repository: Web, tag: "v1-same", program: Web, version: "v1"})
	add(Nginx, Web, []string{"LISTEN=:80"}, "latest", "alpine", "mainline", "1.24", "1.25", "1.26", "1.27", "1.28", "1.29")
	add(Sleeper, Sleeper, nil, numbered(3)...)
	add(Busybox, Sleeper, nil, "latest", "1.36", "1.37")
	add(Crasher, Crasher, nil, "v1")
	add(Pause, Pause, nil, "v1")
	return list
}

// programs are the folders of hack/clusters/samples.
func programs() []string { return []string{Web, Sleeper, Crasher, Pause} }

func numbered(n int) []string {
	tags := make([]string, n)
	for i := range tags {
		tags[i] = fmt.Sprintf("v%d", i+1)
	}
	return tags
}
