{{- define "manta.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "manta.fullname" -}}
{{- $name := include "manta.name" . -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- else if contains $name .Release.Name -}}
{{ .Release.Name | trunc 40 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "manta.labels" -}}
app.kubernetes.io/name: {{ include "manta.name" . }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "manta.selector" -}}
app.kubernetes.io/name: {{ include "manta.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "manta.image" -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end }}

{{- define "manta.nats.image" -}}
{{ .Values.nats.image.repository }}:{{ .Values.nats.image.tag }}
{{- end }}

{{/* Name=true,Other=false as KubeRay's flag has it */}}
{{- define "manta.gates" -}}
{{- $gates := list -}}
{{- range .Values.featureGates -}}{{- $gates = append $gates (printf "%s=%t" .name .enabled) -}}{{- end -}}
{{ join "," $gates }}
{{- end }}

{{/* "true" for a gate that is on: by its name, by its group, or by default */}}
{{- define "manta.gate" -}}
{{- $defaults := .root.Files.Get "files/gates.yaml" | fromYaml -}}
{{- $asked := dict -}}
{{- range .root.Values.featureGates -}}{{- $asked = set $asked .name .enabled -}}{{- end -}}
{{- $default := get $defaults .gate -}}
{{- $group := ternary "AllBeta" "AllAlpha" $default -}}
{{- $on := $default -}}
{{- if hasKey $asked $group -}}{{- $on = get $asked $group -}}{{- end -}}
{{- if hasKey $asked .gate -}}{{- $on = get $asked .gate -}}{{- end -}}
{{- if $on -}}true{{- end -}}
{{- end }}

{{- define "manta.scheduler" -}}
{{- if .Values.batchScheduler.name -}}{{ .Values.batchScheduler.name }}
{{- else if .Values.batchScheduler.enabled -}}volcano
{{- end -}}
{{- end }}

{{/* The namespaces that are looked after, as a list in YAML; none means all of them */}}
{{- define "manta.namespaces" -}}
{{- if .Values.watchNamespace -}}{{ toYaml .Values.watchNamespace }}
{{- else if .Values.singleNamespaceInstall -}}{{ toYaml (list .Release.Namespace) }}
{{- else -}}[]
{{- end -}}
{{- end }}

{{/* The conditions that rights depend on, as a map in YAML */}}
{{- define "manta.conditions" -}}
{{- $scheduler := include "manta.scheduler" . -}}
always: true
openshift: {{ .Capabilities.APIVersions.Has "route.openshift.io/v1" }}
networkPolicy: {{ not (empty (include "manta.gate" (dict "root" . "gate" "RayClusterNetworkPolicy"))) }}
embeddedStorage: {{ not (empty (include "manta.gate" (dict "root" . "gate" "GCSFaultToleranceEmbeddedStorage"))) }}
mtls: {{ not (empty (include "manta.gate" (dict "root" . "gate" "RayClusterMTLS"))) }}
cron: {{ not (empty (include "manta.gate" (dict "root" . "gate" "RayCronJob"))) }}
incrementalUpgrade: {{ not (empty (include "manta.gate" (dict "root" . "gate" "RayServiceIncrementalUpgrade"))) }}
workloads: {{ not (empty (include "manta.gate" (dict "root" . "gate" "KubernetesWAS"))) }}
volcano: {{ eq $scheduler "volcano" }}
schedulerPlugins: {{ eq $scheduler "scheduler-plugins" }}
dashboardProxy: {{ .Values.useKubernetesProxy }}
orphans: {{ .Values.reportOrphans }}
redisByJanitor: {{ eq .Values.redisCleanupBy "janitor" }}
{{- end }}

{{/* The rules of one service that count with these values, as a list in YAML */}}
{{- define "manta.rules" -}}
{{- $conditions := include "manta.conditions" .root | fromYaml -}}
{{- range .rules -}}
{{- if not (hasKey $conditions .when) -}}{{- fail (printf "files/rights.yaml knows a condition %s that the chart does not" .when) -}}{{- end -}}
{{- if get $conditions .when }}
- {{ omit . "when" | toJson }}
{{- end -}}
{{- end -}}
{{- end }}

{{/* What holds for every pod, whatever the values say besides */}}
{{- define "manta.podSecurity" -}}
{{- $always := dict "runAsNonRoot" true "seccompProfile" (dict "type" "RuntimeDefault") -}}
{{- toYaml (merge (dict) .Values.podSecurityContext $always) -}}
{{- end }}

{{/* Where the pods of hooks may run, as those of services */}}
{{- define "manta.hookPlace" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext: {{ include "manta.podSecurity" . | nindent 2 }}
{{- end }}

{{- define "manta.account" -}}
{{ include "manta.fullname" .root }}-{{ .service }}
{{- end }}

{{- define "manta.nats.name" -}}
{{ include "manta.fullname" . }}-nats
{{- end }}

{{- define "manta.nats.secret" -}}
{{ default (include "manta.nats.name" .) .Values.nats.existingSecret }}
{{- end }}

{{/* A service's own settings over the defaults */}}
{{- define "manta.own" -}}
{{- toYaml (mustMergeOverwrite (deepCopy .root.Values.defaults) (deepCopy .own)) -}}
{{- end }}
