/** The spec of a ToolSet resource. */
import { MAX_NAME_LENGTH, MIN_NAME_LENGTH, TASK_SUPPORT } from '../tool.ts'
import { serverAuthentication } from './backend-authentication.ts'
import {
  backendUrl,
  celRules,
  choice,
  duration,
  flag,
  formed,
  integer,
  keyReference,
  noted,
  text,
  texts,
  toolName,
  webUrl,
  z,
} from './resource-fields.ts'
import { HINTS, TOOL_FIELDS } from './tool-spec.ts'

const METHODS = ['GET', 'PUT', 'POST', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH', 'QUERY', 'TRACE'] as const
/** The lists that are taken over from an MCP server. */
export const FEATURES = ['tools', 'resources', 'prompts'] as const
export const MAX_HEADERS = 20
const MONTH_MS = 30 * 24 * 3_600_000
const MAX_INLINE_CHARS = 5_000_000
/** An object of Kubernetes has at most 1.5 MiB. */
const MAX_INLINE_CHARS_OF_OBJECT = 1_000_000

const refreshInterval = z.exactOptional(duration(1_000, MONTH_MS))

const openApiSource = noted(
  z.strictObject({
    url: z.exactOptional(webUrl()),
    refreshInterval,
    configMapRef: z.exactOptional(keyReference()),
    secretRef: z.exactOptional(keyReference()),
    inline: z.exactOptional(
      text(MAX_INLINE_CHARS, { kubernetes: { maxLength: MAX_INLINE_CHARS_OF_OBJECT } }),
    ),
  }),
  {
    description: 'Source of the OpenAPI document; exactly one of url, configMapRef, secretRef, inline.',
    ...celRules(
      [
        '[has(self.url), has(self.configMapRef), has(self.secretRef), has(self.inline)].exists_one(given, given)',
        'write exactly one of url, configMapRef, secretRef, inline',
      ],
      ['!has(self.refreshInterval) || has(self.url)', 'refreshInterval needs url'],
    ),
  },
)

const HEADER_VALUE = { fix: 'write printable ASCII, at most 1024 characters' }

const mcpServer = noted(
  z.strictObject({
    url: backendUrl({ fix: 'write the address of the MCP endpoint, such as https://host/mcp' }),
    transport: z._default(choice(['auto', 'streamable', 'sse']), 'auto'),
    session: z._default(choice(['per-caller', 'shared']), 'per-caller'),
    features: z.exactOptional(
      noted(z.array(choice(FEATURES)).check(z.minLength(1), z.maxLength(3)), {
        fix: 'write a list of one or more of tools, resources, prompts',
      }),
    ),
    trusted: z._default(
      flag({
        description:
          'true: changed descriptions, arguments and hints of its tools are served at once; false: they wait until they are accepted.',
      }),
      false,
    ),
    refreshInterval,
    headers: z.exactOptional(
      noted(z.record(z.string(), formed(/^[\x20-\x7e]+$/, 1024, HEADER_VALUE)), {
        fix: 'write an object of names and values',
        kubernetes: { maxProperties: MAX_HEADERS },
      }),
    ),
    authentication: z.exactOptional(serverAuthentication),
  }),
  { fix: 'write mcp: { url: https://… } with the address of the MCP server' },
)

const selector = z.strictObject({
  annotations: z.exactOptional(
    noted(z.strictObject(HINTS), { description: 'Hints that tools of an MCP server must have.' }),
  ),
  tags: z.exactOptional(texts()),
  excludeTags: z.exactOptional(texts()),
  methods: z.exactOptional(
    noted(
      z.array(
        noted(
          z.string().check(
            z.refine(method => METHODS.some(known => known === method.toUpperCase()), {
              params: { reason: 'is not a method' },
            }),
          ),
          { fix: `use ${METHODS.join(', ')}`, kubernetes: { enum: METHODS } },
        ),
      ),
      { fix: 'write a list such as [GET, POST]', kubernetes: { maxItems: METHODS.length } },
    ),
  ),
  pathPrefix: z.exactOptional(formed(/^\//, 1024, { fix: 'begin it with "/"' })),
  operationIds: z.exactOptional(texts(25_000)),
})

const namePart = () =>
  formed(/^[A-Za-z0-9_.-]*$/, 40, {
    fix: 'use letters, digits, "_", "." and "-", at most 40 characters',
  })

const naming = z.strictObject({
  prefix: z.exactOptional(namePart()),
  suffix: z.exactOptional(namePart()),
  useOperationId: z._default(flag(), true),
  maxLength: z.exactOptional(
    integer(MIN_NAME_LENGTH, MAX_NAME_LENGTH, {
      description: 'Maximum length of the name of a generated tool.',
    }),
  ),
})

/** Extensions (`x-…`) are allowed, so the reader checks the other names. */
export const overlayAction = z.looseObject({
  target: formed(/^\$/, 1024, {
    description: 'JSONPath (RFC 9535).',
    fix: "write a JSONPath (RFC 9535) such as $.paths['/items'].get",
  }),
  description: z.exactOptional(text(4096)),
  update: z.exactOptional(z.unknown()),
  remove: z.exactOptional(flag()),
})

const MAX_ACTIONS = 1000
const MAX_OVERLAYS = 20
const MAX_OVERRIDES = 1000

export const overlayActions = noted(z.array(overlayAction).check(z.minLength(1), z.maxLength(MAX_ACTIONS)), {
  fix: `write a list of 1 to ${MAX_ACTIONS} actions`,
})

/** An OpenAPI Overlay document; the other fields are not read. */
export const overlayDocument = z.looseObject({
  overlay: noted(
    z.unknown().check(
      z.refine(version => /^1\.0(\.|$)/.test(String(version)), {
        params: { reason: 'is not a supported version' },
      }),
    ),
    { fix: 'write an OpenAPI Overlay 1.0 document with overlay: 1.0.0' },
  ),
  actions: overlayActions,
})

const overlay = noted(
  z.strictObject({ configMapRef: z.exactOptional(keyReference()), actions: z.exactOptional(overlayActions) }),
  celRules(['has(self.actions) != has(self.configMapRef)', 'write either actions or configMapRef']),
)

const argument = z.strictObject({
  fixed: z.exactOptional(z.unknown()),
  hidden: z.exactOptional(flag()),
  description: z.exactOptional(text(4096)),
})

const override = z.strictObject({
  operation: text(1024, {
    description: 'operationId, or METHOD path.',
    fix: 'write an operationId, or a method and a path such as "GET /path"',
  }),
  name: z.exactOptional(toolName()),
  tasks: z.exactOptional(choice(TASK_SUPPORT)),
  description: z.exactOptional(text(4096)),
  hidden: z.exactOptional(flag({ description: 'true: the operation does not become a tool.' })),
  arguments: z.exactOptional(
    noted(z.record(z.string(), argument), { fix: 'write an object', kubernetes: { maxProperties: 200 } }),
  ),
})

export const toolSetSpec = noted(
  z.strictObject({
    displayName: text(64, { description: 'Human-readable name.' }),
    description: z.exactOptional(text(4096)),
    enabled: z._default(flag({ description: 'false disables the tool set (phase Disabled).' }), true),
    listing: z.exactOptional(
      choice(['list', 'search'], {
        description: 'search: MCP lists do not contain the tools; clients search for them.',
      }),
    ),
    upstream: z.exactOptional(
      noted(
        z.strictObject({
          http2: z._default(
            flag({ description: 'HTTP/2: by ALPN for https, with prior knowledge for http.' }),
            false,
          ),
        }),
        {
          description:
            'How calls share connections to the backend; without it one HTTP/1.1 request is in flight on each.',
        },
      ),
    ),
    baseURL: z.exactOptional(
      backendUrl({
        description:
          'Base address of the generated tools; wins over the servers of the document. http+unix://%2Frun%2Fshop.sock/base: over a Unix socket that EGRESS_ALLOW lists.',
      }),
    ),
    openAPISpec: z.exactOptional(openApiSource),
    source: z.exactOptional(
      noted(z.strictObject({ mcp: mcpServer }), {
        description:
          'An MCP server whose tools, resources and prompts are served, in place of an OpenAPI document.',
      }),
    ),
    selector: z.exactOptional(selector),
    toolDefaults: z.exactOptional(
      z.strictObject({
        ...TOOL_FIELDS,
        outputSchema: z.exactOptional(flag({ description: 'Declares outputSchema from success responses.' })),
      }),
    ),
    naming: z.exactOptional(naming),
    overlays: z.exactOptional(
      noted(z.array(overlay).check(z.maxLength(MAX_OVERLAYS)), {
        description: 'OpenAPI Overlay 1.0; applied to the document in this order.',
      }),
    ),
    overrides: z.exactOptional(z.array(override).check(z.maxLength(MAX_OVERRIDES))),
  }),
  celRules([
    '!has(self.source) || !(has(self.openAPISpec) || has(self.baseURL) || has(self.overlays) || has(self.upstream))',
    'openAPISpec, baseURL, overlays and upstream are for OpenAPI documents, source is for an MCP server',
  ]),
)

export type ToolSetSpec = z.output<typeof toolSetSpec>
