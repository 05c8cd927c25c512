{{- define "gvList" -}}
{{- range . }}{{ template "gvDetails" . }}{{ end -}}
{{- end -}}

{{- define "gvDetails" -}}
# {{ .GroupVersionString }}

Kinds:
{{- range .SortedKinds }} [{{ . }}](#{{ lower . }}){{ end }}
{{ range .SortedTypes }}{{ template "type" . }}{{ end -}}
{{- end -}}

{{- define "type" -}}
{{- if markdownShouldRenderType . }}
## {{ .Name }}

{{ if .IsAlias }}A {{ template "link" .UnderlyingType }}. {{ end }}{{ .Doc }}
{{- if .References }}

In:
{{- range .SortedReferences }} {{ template "link" . }}{{ end }}
{{- end }}
{{- if .Members }}

| Field | | Default | Validation |
| --- | --- | --- | --- |
{{- range .Members }}
| `{{ .Name }}` {{ template "ref" .Type }} | {{ if eq .Name "metadata" }}name, labels, annotations{{ else }}{{ markdownRenderFieldDoc .Doc }}{{ end }} | {{ markdownRenderDefault .Default }} | {{ range .Validation }}{{ if eq . "Optional: {}" }}optional {{ else if ne . "Schemaless: {}" }}{{ markdownRenderFieldDoc . }} {{ end }}{{ end }} |
{{- end }}
{{- end }}
{{- if .EnumValues }}

| Value | |
| --- | --- |
{{- range .EnumValues }}
| `{{ .Name }}` | {{ markdownRenderFieldDoc .Doc }} |
{{- end }}
{{- end }}
{{ end -}}
{{- end -}}

{{- define "ref" -}}
{{- if .KeyType }}object of {{ template "link" .ValueType }}
{{- else if and .UnderlyingType (eq (printf "%d" .Kind) "5") }}{{ template "link" .UnderlyingType }} array
{{- else }}{{ template "link" . }}{{ end -}}
{{- end -}}

{{- define "link" -}}
{{- if hasPrefix "struct{" .Name }}object
{{- else if and .Package (eq .Package (markdownTemplateValue "package")) }}[{{ .Name }}]({{ markdownTemplateValue "page" }}#{{ lower .Name }})
{{- else }}{{ markdownRenderTypeLink . }}{{ end -}}
{{- end -}}
