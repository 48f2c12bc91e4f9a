{{/* How a service reaches NATS */}}
{{- define "manta.nats.env" -}}
{{- $nats := .root.Values.nats -}}
{{- if $nats.bundled -}}
- name: NATS_PASSWORD
  valueFrom:
    secretKeyRef: {name: {{ include "manta.nats.secret" .root }}, key: {{ .service }}}
- name: MANTA_NATS_URLS
  value: {{ include "manta.nats.urls" . }}
{{- else if $nats.external.urlsSecret -}}
- name: MANTA_NATS_URLS
  valueFrom:
    secretKeyRef: {name: {{ $nats.external.urlsSecret }}, key: {{ .service }}}
{{- else -}}
- name: MANTA_NATS_URLS
  value: {{ required "nats.external.urls, or nats.external.urlsSecret, is needed when nats.bundled is false" (join "," $nats.external.urls) | quote }}
{{- end }}
{{- if and (not $nats.bundled) $nats.external.credentialsSecret }}
- {name: MANTA_NATS_CREDENTIALS_FILE, value: /etc/manta-nats/{{ .service }}.creds}
{{- end }}
{{- if and (not $nats.bundled) $nats.external.caSecret }}
- {name: MANTA_NATS_CA_FILE, value: /etc/manta-nats-ca/ca.crt}
{{- end }}
{{- end }}

{{/* Files by which a NATS of another's is reached, as mounts and as volumes */}}
{{- define "manta.nats.mounts" -}}
{{- $nats := .Values.nats -}}
{{- if and (not $nats.bundled) $nats.external.credentialsSecret }}
- {name: nats-credentials, mountPath: /etc/manta-nats, readOnly: true}
{{- end }}
{{- if and (not $nats.bundled) $nats.external.caSecret }}
- {name: nats-ca, mountPath: /etc/manta-nats-ca, readOnly: true}
{{- end }}
{{- end }}

{{- define "manta.nats.volumes" -}}
{{- $nats := .root.Values.nats -}}
{{- if and (not $nats.bundled) $nats.external.credentialsSecret }}
- name: nats-credentials
  secret:
    secretName: {{ $nats.external.credentialsSecret }}
    items: [{key: {{ .service }}.creds, path: {{ .service }}.creds}]
{{- end }}
{{- if and (not $nats.bundled) $nats.external.caSecret }}
- name: nats-ca
  secret:
    secretName: {{ $nats.external.caSecret }}
    items: [{key: ca.crt, path: ca.crt}]
{{- end }}
{{- end }}

{{/* Everybody who has a password of the bundled NATS */}}
{{- define "manta.nats.users" -}}
{{- $users := concat (keys .Values.services | sortAlpha) (list "routes") -}}
{{- if .Values.helmTest.enabled }}{{- $users = append $users "doctor" }}{{- end -}}
{{ toJson $users }}
{{- end }}

{{/* One user of NATS: its name and what it may say and hear */}}
{{- define "manta.nats.user" -}}
{
  user: {{ .name }}
  password: $NATS_{{ .name | upper | replace "-" "_" }}_PASSWORD
  permissions: {
    publish: {allow: {{ toRawJson .nats.publish }}}
    subscribe: {allow: {{ toRawJson .nats.subscribe }}}
    {{- if .nats.answers }}
    allow_responses: true
    {{- end }}
  }
}
{{- end }}

{{- define "manta.nats.urls" -}}
{{- $name := include "manta.nats.name" .root -}}
{{- $service := .service -}}
{{- $namespace := .root.Release.Namespace -}}
{{- $urls := list -}}
{{- range $number := until (int .root.Values.nats.replicas) -}}
{{- $urls = append $urls (printf "nats://%s:$(NATS_PASSWORD)@%s-%d.%s.%s:4222" $service $name $number $name $namespace) -}}
{{- end -}}
{{ join "," $urls | quote }}
{{- end }}

{{/* nats-server's configuration; passwords are variables that the container gets from the Secret */}}
{{- define "manta.nats.config" -}}
{{- $root := . -}}
{{- $name := include "manta.nats.name" . -}}
{{- $rights := .Files.Get "files/rights.yaml" | fromYaml -}}
server_name: $POD_NAME
port: 4222
http: 8222
max_payload: 8MB
jetstream {
  store_dir: /data
  sync_interval: 2m
}
{{- if gt (int .Values.nats.replicas) 1 }}
cluster {
  name: {{ $name }}
  port: 6222
  routes: [
    {{- range $number := until (int .Values.nats.replicas) }}
    "nats-route://routes:$NATS_ROUTES_PASSWORD@{{ $name }}-{{ $number }}.{{ $name }}.{{ $root.Release.Namespace }}:6222"
    {{- end }}
  ]
  authorization { user: routes, password: $NATS_ROUTES_PASSWORD }
}
{{- end }}
authorization {
  users: [
    {{- range $service, $_ := .Values.services }}
    {{- include "manta.nats.user" (dict "name" $service "nats" (get $rights $service).nats) | nindent 4 }}
    {{- end }}
    {{- if .Values.helmTest.enabled }}
    {{- include "manta.nats.user" (dict "name" "doctor" "nats" (.Files.Get "files/doctor.yaml" | fromYaml).nats) | nindent 4 }}
    {{- end }}
  ]
}
{{- end }}
