{{/* The Deployment of one plane: `root`, `plane`, `values` of the plane, `settings` that the chart derives, its `port`. */}}
{{- define "toolgate.deployment" -}}
{{- $root := .root -}}
{{- $name := printf "%s-%s" (include "toolgate.name" $root) .plane -}}
{{- $settings := mergeOverwrite (deepCopy .settings) (deepCopy $root.Values.settings) (deepCopy .values.settings) -}}
{{- $secrets := .values.secrets -}}
{{- $scheme := ternary "HTTPS" "HTTP" (hasKey $secrets (ternary "GATEWAY_CERT" "API_CERT" (eq .plane "gateway"))) -}}
{{- $usesCluster := and (eq .plane "gateway") (eq $root.Values.toolSets.source "kubernetes") -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "toolgate.labels" . | nindent 4 }}
spec:
  {{- if not (dig "autoscaling" "enabled" false .values) }}
  replicas: {{ .values.replicas }}
  {{- end }}
  revisionHistoryLimit: 3
  strategy:
    {{- if and (eq .plane "control-plane") (not (hasKey .values.secrets "DATABASE_URL")) }}
    # the embedded database is open in one process at a time
    type: Recreate
    {{- else }}
    type: RollingUpdate
    rollingUpdate: { maxUnavailable: 0, maxSurge: 1 }
    {{- end }}
  selector:
    matchLabels: {{- include "toolgate.selector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "toolgate.labels" . | nindent 8 }}
      {{- with .values.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "toolgate.name" $root }}
      automountServiceAccountToken: {{ $usesCluster }}
      enableServiceLinks: false
      # more than SHUTDOWN_DELAY plus DRAIN_TIMEOUT; the process itself serves during SHUTDOWN_DELAY, so there is no preStop hook
      terminationGracePeriodSeconds: {{ .values.terminationGracePeriodSeconds }}
      {{- with $root.Values.image.pullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        runAsGroup: 10001
        fsGroup: 10001
        fsGroupChangePolicy: OnRootMismatch
        seccompProfile: { type: RuntimeDefault }
      topologySpreadConstraints:
        {{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
        - maxSkew: 1
          topologyKey: {{ $key }}
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "toolgate.selector" $ | nindent 14 }}
        {{- end }}
      containers:
        - name: toolgate
          image: {{ include "toolgate.image" $root }}
          imagePullPolicy: {{ $root.Values.image.pullPolicy }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: { drop: [ALL] }
          ports:
            - { name: http, containerPort: {{ .port }} }
            - { name: metrics, containerPort: 9464 }
          env:
            {{- range $setting, $value := $settings }}
            - { name: {{ $setting }}, value: {{ $value | toString | quote }} }
            {{- end }}
            - name: POD_NAME
              valueFrom: { fieldRef: { fieldPath: metadata.name } }
            - name: POD_NAMESPACE
              valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
            {{- if eq .plane "gateway" }}
            - name: GATEWAY_NAME
              valueFrom: { fieldRef: { fieldPath: metadata.name } }
            {{- end }}
            {{- range $setting, $secret := .values.secrets }}
            - { name: {{ $setting }}_FILE, value: /run/secrets/toolgate/{{ $setting }} }
            {{- end }}
          # the process serves under known host names only
          startupProbe:
            httpGet: { path: /health, port: http, scheme: {{ $scheme }}, httpHeaders: [{ name: Host, value: localhost }] }
            periodSeconds: 2
            failureThreshold: 60
          livenessProbe:
            httpGet: { path: /health, port: http, scheme: {{ $scheme }}, httpHeaders: [{ name: Host, value: localhost }] }
            periodSeconds: 10
            timeoutSeconds: 3
          readinessProbe:
            httpGet: { path: /ready, port: http, scheme: {{ $scheme }}, httpHeaders: [{ name: Host, value: localhost }] }
            periodSeconds: 2
            timeoutSeconds: 2
            failureThreshold: 2
          resources: {{- toYaml .values.resources | nindent 12 }}
          volumeMounts:
            - { name: data, mountPath: /data }
            {{- range $folder, $volume := .values.data.folders }}
            - { name: data-{{ $folder }}, mountPath: /data/{{ $folder }} }
            {{- end }}
            {{- if .values.secrets }}
            - { name: secrets, mountPath: /run/secrets/toolgate, readOnly: true }
            {{- end }}
            {{- if $root.Values.configuration.configMap }}
            - { name: configuration, mountPath: /etc/toolgate/configuration, readOnly: true }
            {{- end }}
            {{- if and (eq .plane "gateway") (eq $root.Values.toolSets.source "configMap") }}
            - { name: tool-sets, mountPath: /etc/toolgate/toolsets, readOnly: true }
            {{- end }}
      volumes:
        - name: data
          {{- toYaml (.values.data.volume | default (dict "emptyDir" (dict "sizeLimit" "2Gi"))) | nindent 10 }}
        {{- range $folder, $volume := .values.data.folders }}
        - name: data-{{ $folder }}
          {{- toYaml $volume | nindent 10 }}
        {{- end }}
        {{- if .values.secrets }}
        - name: secrets
          projected:
            # readable by the group of the pod, not by others
            defaultMode: 0440
            sources:
              {{- range $setting, $secret := .values.secrets }}
              - secret:
                  name: {{ $secret.name }}
                  items: [{ key: {{ $secret.key }}, path: {{ $setting }} }]
              {{- end }}
        {{- end }}
        {{- with $root.Values.configuration.configMap }}
        - name: configuration
          configMap: { name: {{ . }} }
        {{- end }}
        {{- if and (eq .plane "gateway") (eq $root.Values.toolSets.source "configMap") }}
        - name: tool-sets
          configMap: { name: {{ required "toolSets.configMap names the ConfigMap with the tool sets" $root.Values.toolSets.configMap }} }
        {{- end }}
      {{- with .values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end }}
