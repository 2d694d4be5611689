{{/* Names and labels. Every call takes (dict "root" $ "app" "<app>"). */}}
{{- define "muster.name" -}}
{{- printf "%s-%s" .root.Release.Name .app | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "muster.selectorLabels" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .app }}
{{- end -}}

{{- define "muster.labels" -}}
{{ include "muster.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "muster.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}

{{/* An app's environment: the variables of all apps, of the object storage and its own; later ones override earlier ones.
     The values are copied because mustMergeOverwrite changes its first argument. */}}
{{- define "muster.env" -}}
{{- $values := .root.Values -}}
{{- $app := index $values.apps .app -}}
{{- $storage := ternary $values.objectStorage (dict) (default false $app.objectStorage) -}}
{{- $plain := mustMergeOverwrite (deepCopy $values.env) (deepCopy (default (dict) $storage.env)) (default (dict) $app.env) -}}
{{- $secret := mustMergeOverwrite (deepCopy $values.secretEnv) (deepCopy (default (dict) $storage.secretEnv)) (default (dict) $app.secretEnv) -}}
{{- $_ := required "env.PUBLIC_APP_URL must be set" $plain.PUBLIC_APP_URL -}}
{{- range $name, $value := $plain }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- range $name, $source := $secret }}
{{- include "muster.secretVariable" (dict "name" $name "source" $source) }}
{{- end }}
{{- end -}}

{{- define "muster.secretVariable" }}
- name: {{ .name }}
  valueFrom:
    secretKeyRef:
      name: {{ .source.name }}
      key: {{ .source.key }}
{{- end -}}

{{/* Every pod runs as a user without privileges and can write only to /tmp. */}}
{{- define "muster.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "muster.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Node selection and image pull secrets. */}}
{{- define "muster.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* List of the apps in the table of paths. */}}
{{- define "muster.publicApps" -}}
{{- $apps := list -}}
{{- range (.Files.Get "generated/paths.yaml" | fromYaml).paths -}}
{{- $apps = append $apps .app -}}
{{- end -}}
{{- $apps | uniq | toJson -}}
{{- end -}}
