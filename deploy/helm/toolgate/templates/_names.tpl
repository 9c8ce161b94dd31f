{{/* Names, labels and parts of both planes. */}}
{{- define "toolgate.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "toolgate.selector" -}}
app.kubernetes.io/name: toolgate
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .plane }}
{{- end }}

{{- define "toolgate.labels" -}}
{{ include "toolgate.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{- define "toolgate.image" -}}
{{- with .Values.image }}{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}{{ end }}
{{- end }}

{{/* Names under which a service is called inside the cluster. */}}
{{- define "toolgate.hosts" -}}
{{- $service := printf "%s-%s" (include "toolgate.name" .root) .plane -}}
{{- printf "%s,%s.%s,%s.%s.svc,%s.%s.svc.cluster.local" $service $service .root.Release.Namespace $service .root.Release.Namespace $service .root.Release.Namespace }}
{{- end }}
