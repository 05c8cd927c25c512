// Copyright The Flotilla Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// TrafficRoutingRef says whose traffic is moved, and by which means: one or several of ingress, gateway and
// customNetworkRefs.
type TrafficRoutingRef struct {
	// service is the stable Service. It selects pods and has a cluster IP.
	Service string `json:"service"`
	// gracePeriodSeconds is how long to wait after a change of routes or Services. Seconds, default 3;
	// 0 does not wait.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	GracePeriodSeconds *int32 `json:"gracePeriodSeconds,omitempty"`
	// ingress is an Ingress that leads to the Service.
	// +optional
	Ingress *IngressTrafficRouting `json:"ingress,omitempty"`
	// gateway is a route of the Gateway API that leads to the Service.
	// +optional
	Gateway *GatewayTrafficRouting `json:"gateway,omitempty"`
	// customNetworkRefs are objects of other providers.
	// +optional
	CustomNetworkRefs []ObjectRef `json:"customNetworkRefs,omitempty"`
}

// IngressTrafficRouting is an Ingress.
type IngressTrafficRouting struct {
	// classType is the kind of the ingress controller: nginx (default), aliyun-alb, higress, mse, or one
	// that a script was configured for.
	// +optional
	ClassType string `json:"classType,omitempty"`
	// name of the Ingress.
	Name string `json:"name"`
}

// GatewayTrafficRouting is a route of the Gateway API.
type GatewayTrafficRouting struct {
	// httpRouteName is the name of an HTTPRoute.
	// +optional
	HTTPRouteName *string `json:"httpRouteName,omitempty"`
}

// TrafficRoutingStrategy says which traffic goes to the new pods. matches win over traffic.
type TrafficRoutingStrategy struct {
	// traffic is the share of the requests, a whole percentage such as 20%. More than 0% and at most 100%;
	// 0% is allowed with strategy blueGreen.
	// +optional
	Traffic *string `json:"traffic,omitempty"`
	// requestHeaderModifier changes headers of requests to the new pods, where the provider can.
	// +optional
	RequestHeaderModifier *HTTPHeaderFilter `json:"requestHeaderModifier,omitempty"`
	// matches pick requests: one that fits any of them goes to the new pods.
	// +optional
	// +kubebuilder:validation:MaxItems=16
	Matches []HTTPRouteMatch `json:"matches,omitempty"`
}

// HTTPRouteMatch picks requests that fit all its parts.
type HTTPRouteMatch struct {
	// path of the request.
	// +optional
	Path *HTTPPathMatch `json:"path,omitempty"`
	// headers of the request; all must fit.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Headers []HTTPHeaderMatch `json:"headers,omitempty"`
	// queryParams of the request; all must fit.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	QueryParams []HTTPQueryParamMatch `json:"queryParams,omitempty"`
}

// PathMatchType says how a path is compared.
// +kubebuilder:validation:Enum=Exact;PathPrefix;RegularExpression
type PathMatchType string

const (
	// PathMatchExact: all of it.
	PathMatchExact PathMatchType = "Exact"
	// PathMatchPathPrefix: whole elements from its start. The default.
	PathMatchPathPrefix PathMatchType = "PathPrefix"
	// PathMatchRegularExpression: as a regular expression of the provider.
	PathMatchRegularExpression PathMatchType = "RegularExpression"
)

// HTTPPathMatch compares the path of a request.
type HTTPPathMatch struct {
	// type is PathPrefix (default), Exact or RegularExpression.
	// +optional
	// +kubebuilder:default=PathPrefix
	Type *PathMatchType `json:"type,omitempty"`
	// value to compare with. Default /.
	// +optional
	// +kubebuilder:default="/"
	// +kubebuilder:validation:MaxLength=1024
	Value *string `json:"value,omitempty"`
}

// HeaderMatchType says how a header is compared.
// +kubebuilder:validation:Enum=Exact;RegularExpression
type HeaderMatchType string

const (
	// HeaderMatchExact: all of it. The default.
	HeaderMatchExact HeaderMatchType = "Exact"
	// HeaderMatchRegularExpression: as a regular expression of the provider.
	HeaderMatchRegularExpression HeaderMatchType = "RegularExpression"
)

// HTTPHeaderName is the name of a header, or of a query parameter.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9!#$%&'*+\-.^_\x60|~]+$`
type HTTPHeaderName string

// HTTPHeaderMatch compares a header of a request.
type HTTPHeaderMatch struct {
	// type is Exact (default) or RegularExpression.
	// +optional
	// +kubebuilder:default=Exact
	Type *HeaderMatchType `json:"type,omitempty"`
	// name of the header; case does not matter.
	Name HTTPHeaderName `json:"name"`
	// value to compare with.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value"`
}

// QueryParamMatchType says how a query parameter is compared.
// +kubebuilder:validation:Enum=Exact;RegularExpression
type QueryParamMatchType string

const (
	// QueryParamMatchExact: all of it. The default.
	QueryParamMatchExact QueryParamMatchType = "Exact"
	// QueryParamMatchRegularExpression: as a regular expression of the provider.
	QueryParamMatchRegularExpression QueryParamMatchType = "RegularExpression"
)

// HTTPQueryParamMatch compares a query parameter of a request.
type HTTPQueryParamMatch struct {
	// type is Exact (default) or RegularExpression.
	// +optional
	// +kubebuilder:default=Exact
	Type *QueryParamMatchType `json:"type,omitempty"`
	// name of the parameter.
	Name HTTPHeaderName `json:"name"`
	// value to compare with.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Value string `json:"value"`
}

// HTTPHeader is a header with its value.
type HTTPHeader struct {
	// name of the header; case does not matter.
	Name HTTPHeaderName `json:"name"`
	// value of the header.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Value string `json:"value"`
}

// HTTPHeaderFilter changes headers.
type HTTPHeaderFilter struct {
	// set overwrites headers.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Set []HTTPHeader `json:"set,omitempty"`
	// add adds values to headers.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Add []HTTPHeader `json:"add,omitempty"`
	// remove takes headers out.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	Remove []string `json:"remove,omitempty"`
}
