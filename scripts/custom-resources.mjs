/** The custom resource definitions: names and columns, the schema of the spec as `src/model/schema` declares it, and the status that gateways write. */
import { stringify } from 'yaml'
import { gatewayBindingSpec, gatewayInstanceSpec } from '../src/model/schema/gateway-object-specs.ts'
import { NOTES, z } from '../src/model/schema/resource-fields.ts'
import { toolSetSpec } from '../src/model/schema/tool-set-spec.ts'
import { toolSpec } from '../src/model/schema/tool-spec.ts'
import { toolViewSpec } from '../src/model/schema/tool-view-spec.ts'

const GROUP = 'toolgate.dev'
const isObject = value => typeof value === 'object' && value !== null && !Array.isArray(value)

const text = { type: 'string' }
const textOrNull = { ...text, nullable: true }
const texts = { type: 'array', items: text }
const count = { type: 'integer', minimum: 0 }
const moment = { type: 'string', format: 'date-time' }
const words = (...values) => ({ type: 'string', enum: values })
/** As metav1.Condition. */
const conditions = {
  type: 'array',
  'x-kubernetes-list-type': 'map',
  'x-kubernetes-list-map-keys': ['type'],
  items: {
    type: 'object',
    required: ['type', 'status', 'reason', 'message', 'lastTransitionTime'],
    properties: {
      type: { type: 'string', maxLength: 316 },
      status: words('True', 'False', 'Unknown'),
      reason: { type: 'string', maxLength: 1024 },
      message: { type: 'string', maxLength: 32768 },
      lastTransitionTime: moment,
      observedGeneration: { type: 'integer' },
    },
  },
}
const column = (name, type, jsonPath, priority) => ({ name, type, jsonPath, ...(priority && { priority }) })
const ERROR = column('Error', 'string', '.status.lastError', 1)
const AGE = column('Age', 'date', '.metadata.creationTimestamp')

const DEFINITIONS = [
  {
    about: 'ToolSet: an OpenAPI document or an MCP server, and how it becomes tools.',
    kind: 'ToolSet',
    shortName: 'ts',
    spec: toolSetSpec,
    columns: [
      column('Phase', 'string', '.status.phase'),
      column('Tools', 'integer', '.status.toolCount'),
      column('Synced', 'date', '.status.lastSyncedAt'),
      ERROR,
    ],
    status: {
      phase: words('Pending', 'Syncing', 'Ready', 'Error', 'Disabled'),
      toolCount: count,
      tools: texts,
      lastSyncedAt: moment,
      specHash: text,
      lastError: text,
      breakingChanges: texts,
      pendingDefinitions: {
        type: 'object',
        properties: {
          specHash: text,
          more: count,
          findings: texts,
          changes: {
            type: 'array',
            items: {
              type: 'object',
              properties: { tool: text, field: text, before: textOrNull, after: textOrNull },
            },
          },
        },
      },
    },
  },
  {
    about:
      'Tool: one tool. Those of a ToolSet are written by the gateway and owned by it; a field edited by hand is kept.',
    kind: 'Tool',
    spec: toolSpec,
    columns: [
      column('Tool', 'string', '.metadata.annotations.toolgate\\.dev/tool-name'),
      column('Method', 'string', '.spec.method'),
      column('Endpoint', 'string', '.spec.endpoint', 1),
      column('Enabled', 'boolean', '.spec.enabled'),
    ],
  },
  {
    about: 'ToolView: a named view over tools, as a model sees them.',
    kind: 'ToolView',
    shortName: 'tv',
    spec: toolViewSpec,
    columns: [
      column('Phase', 'string', '.status.phase'),
      column('Tools', 'integer', '.status.toolCount'),
      column('Tokens', 'integer', '.status.tokens'),
      ERROR,
    ],
    status: {
      phase: words('Ready', 'Error'),
      toolCount: count,
      tools: texts,
      tokens: count,
      tokenBudget: count,
      leftOut: texts,
      lastError: text,
    },
  },
  {
    about:
      'GatewayBinding: an API of the tenant of its namespace, which `toolgate config follow` applies to the control plane.',
    kind: 'GatewayBinding',
    shortName: 'gwb',
    spec: gatewayBindingSpec,
    columns: [
      column('Phase', 'string', '.status.phase'),
      column('Path', 'string', '.spec.path'),
      column('Gateway', 'string', '.spec.gatewayRef.name'),
      ERROR,
    ],
    status: {
      phase: words('Ready', 'Syncing', 'Error'),
      apiId: text,
      syncStatus: text,
      desiredVersion: text,
      actualVersion: text,
      lastAppliedAt: moment,
      lastError: text,
      observedGeneration: { type: 'integer' },
    },
  },
  {
    about:
      'GatewayInstance: a gateway as the control plane sees it; `toolgate config follow` writes the status. Only in the namespace platform.',
    kind: 'GatewayInstance',
    shortName: 'gwi',
    spec: gatewayInstanceSpec,
    columns: [
      column('Phase', 'string', '.status.phase'),
      column('Version', 'string', '.status.version'),
      column('URL', 'string', '.status.url'),
      ERROR,
    ],
    status: {
      phase: words('Online', 'Offline', 'Degraded', 'Draining', 'Absent', 'Error'),
      gatewayId: text,
      version: text,
      url: text,
      workers: { type: 'integer' },
      snapshotVersion: text,
      lastError: text,
      observedGeneration: { type: 'integer' },
    },
  },
]

/** A structural schema (Kubernetes), which has other words for open objects. */
function structural(node) {
  if (Array.isArray(node)) return node.map(structural)
  if (!isObject(node)) return node
  const {
    $schema: _,
    fix: __,
    kubernetes,
    propertyNames: ___,
    properties,
    additionalProperties,
    ...rest
  } = node
  const isOpen = isObject(additionalProperties) && Object.keys(additionalProperties).length === 0
  const schema = {
    ...Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, structural(value)])),
    ...kubernetes,
    ...(isOpen ? { 'x-kubernetes-preserve-unknown-fields': true } : {}),
    ...(isObject(additionalProperties) && !isOpen
      ? { additionalProperties: structural(additionalProperties) }
      : {}),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(
            Object.entries(properties).map(([name, value]) => [name, structural(value)]),
          ),
        }),
  }
  return Object.keys(schema).some(name => name !== 'description')
    ? schema
    : { ...schema, 'x-kubernetes-preserve-unknown-fields': true }
}

function definitionOf({ kind, shortName, spec, columns, status }) {
  const singular = kind.toLowerCase()
  const json = z.toJSONSchema(spec, { io: 'input', metadata: NOTES, unrepresentable: 'any' })
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${singular}s.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: {
        kind,
        listKind: `${kind}List`,
        plural: `${singular}s`,
        singular,
        ...(shortName === undefined ? {} : { shortNames: [shortName] }),
        categories: ['toolgate'],
      },
      versions: [
        {
          name: 'v1alpha1',
          served: true,
          storage: true,
          ...(status === undefined ? {} : { subresources: { status: {} } }),
          additionalPrinterColumns: [...columns, AGE],
          schema: {
            openAPIV3Schema: {
              type: 'object',
              ...(kind === 'GatewayInstance' ? {} : { required: ['spec'] }),
              properties: {
                apiVersion: text,
                kind: text,
                metadata: { type: 'object' },
                spec: structural(json),
                ...(status === undefined
                  ? {}
                  : { status: { type: 'object', properties: { ...status, conditions } } }),
              },
            },
          },
        },
      ],
    },
  }
}

/** @returns plural name → definition, and its file */
export function customResources() {
  return DEFINITIONS.map(given => {
    const definition = definitionOf(given)
    const text = stringify(JSON.parse(JSON.stringify(definition)), {
      lineWidth: 0,
      aliasDuplicateObjects: false,
    })
    const about = `# ${given.about} Constraints are those that the gateway checks.\n# Generated by npm run generate; do not edit.\n`
    return { plural: definition.spec.names.plural, definition, yaml: `${about}${text}` }
  })
}
