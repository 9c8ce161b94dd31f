/** `toolset lint` accepts a file exactly when the gateway serves every resource of it: generated files, many of them broken. */
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { inspectFile } from '../../../src/catalog/inspect/inspect-file.ts'
import { createEgress } from '../../../src/net/egress/client.ts'
import { randomFrom } from '../../fixtures/fuzz-cases.ts'
import { API_VERSION, Deployment, documentOf, serve } from './deployment.ts'

const COUNT = Number(process.env.LINT_CASES ?? 80)
const SEED = Number(process.env.LINT_SEED ?? 20261122)

type Spec = Record<string, unknown>
interface Resource {
  apiVersion: unknown
  kind: unknown
  metadata: Record<string, unknown>
  spec: Spec
}

const unusable = 'http://127.0.0.1:1/openapi.json'
const placeholder = (name: string): string => `$\{${name}}`
const overlay = (...actions: object[]) => ({ overlays: [{ actions }] })

/** Each changes the first resource of a file; some leave it valid. */
const CHANGES: { readonly [name: string]: (resource: Resource, url: string) => void } = {
  'no change': () => {},
  'unknown field': ({ spec }) => Object.assign(spec, { selektor: {} }),
  'missing name for people': ({ spec }) => delete spec.displayName,
  'text for a number': ({ spec }) =>
    Object.assign(spec, { toolDefaults: { rateLimit: { requestsPerMinute: '5' } } }),
  'two sources': ({ spec }) => Object.assign(spec.openAPISpec as Spec, { url: unusable }),
  'no source': ({ spec }) => Object.assign(spec, { openAPISpec: {} }),
  'closed port': ({ spec }) => Object.assign(spec, { openAPISpec: { url: unusable } }),
  address: ({ spec }, url) => Object.assign(spec, { openAPISpec: { url } }),
  'address without a document': ({ spec }, url) =>
    Object.assign(spec, { openAPISpec: { url: `${url}/none` } }),
  'known placeholder': ({ spec }) => Object.assign(spec, { baseURL: placeholder('EXAMPLE_URL') }),
  'unknown placeholder': ({ spec }) => Object.assign(spec, { baseURL: placeholder('SHOP_URL') }),
  'user in the address': ({ spec }) => Object.assign(spec, { baseURL: 'http://a:b@backend.test' }),
  'no server': ({ spec }) => delete spec.baseURL,
  'missing ConfigMap': ({ spec }) =>
    Object.assign(spec, { openAPISpec: { configMapRef: { name: 'none', key: 'a.json' } } }),
  ConfigMap: ({ spec }) =>
    Object.assign(spec, { openAPISpec: { configMapRef: { name: 'docs', key: 'a.json' } } }),
  'missing secret': ({ spec }) =>
    Object.assign(spec, {
      toolDefaults: { authentication: { type: 'bearer', secretRef: { name: 'none', key: 'token' } } },
    }),
  'not OpenAPI': ({ spec }) => Object.assign(spec, { openAPISpec: { inline: '{"paths":{}}' } }),
  'broken JSON': ({ spec }) => Object.assign(spec, { openAPISpec: { inline: '{"openapi":' } }),
  'broken YAML': ({ spec }) => Object.assign(spec, { openAPISpec: { inline: 'a: [1\nb: }' } }),
  'no operation left': ({ spec }) => Object.assign(spec, { selector: { tags: ['none'] } }),
  'override of nothing': ({ spec }) =>
    Object.assign(spec, { overrides: [{ operation: 'none', hidden: true }] }),
  overlay: ({ spec }) => Object.assign(spec, overlay({ target: '$.info', update: { title: 'Other' } })),
  'overlay that matches nothing': ({ spec }) =>
    Object.assign(spec, overlay({ target: '$.nothing', remove: true })),
  'overlay without JSONPath': ({ spec }) => Object.assign(spec, overlay({ target: '$[', remove: true })),
  'overlay that cannot be applied': ({ spec }) =>
    Object.assign(spec, overlay({ target: '$.info', update: ['x'] })),
  'overlay that removes all': ({ spec }) => Object.assign(spec, overlay({ target: '$.paths', remove: true })),
  'overlay that breaks paths': ({ spec }) =>
    Object.assign(
      spec,
      overlay({ target: '$.paths.*', remove: true }, { target: '$.paths', update: { x: 1 } }),
    ),
  'overlay in a ConfigMap': ({ spec }) =>
    Object.assign(spec, { overlays: [{ configMapRef: { name: 'docs', key: 'overlay.yaml' } }] }),
  'overlay of a later version': ({ spec }) =>
    Object.assign(spec, { overlays: [{ configMapRef: { name: 'docs', key: 'overlay-2.yaml' } }] }),
  'missing overlay': ({ spec }) =>
    Object.assign(spec, { overlays: [{ configMapRef: { name: 'docs', key: 'none.yaml' } }] }),
  'other API group': resource => Object.assign(resource, { apiVersion: 'other.dev/v1alpha1' }),
  'other kind': resource => Object.assign(resource, { kind: 'Toolset' }),
  'no tenant': ({ metadata }) => Object.assign(metadata, { namespace: 'acme' }),
  'upper case name': ({ metadata }) => Object.assign(metadata, { name: 'Upper' }),
}

/** What follows in the same file. */
const MORE: { readonly [name: string]: (i: number) => string } = {
  nothing: () => '',
  'a second ToolSet': i => part(resourceOf(`more-${i}`, `more${i}_`)),
  'a ToolSet with the same tools': i => part(resourceOf(`more-${i}`, `c${i}_`)),
  'a Tool without endpoint': i => part(tool(`tool${i}`, {})),
  'a Tool': i => part(tool(`tool${i}`, { endpoint: 'http://backend.test/a', method: 'GET' })),
  'broken YAML': () => '---\na: [\n',
}

const part = (resource: object): string => `---\n${stringify(resource)}`

function tool(name: string, spec: object): object {
  return { apiVersion: API_VERSION, kind: 'Tool', metadata: { name, namespace: 'tenant-acme' }, spec }
}

function resourceOf(name: string, prefix: string): Resource {
  return {
    apiVersion: API_VERSION,
    kind: 'ToolSet',
    metadata: { name, namespace: 'tenant-acme' },
    spec: {
      displayName: name,
      baseURL: 'http://backend.test',
      openAPISpec: { inline: documentOf('alpha', 'beta') },
      naming: { prefix },
    },
  }
}

interface Case {
  readonly file: string
  readonly text: string
  readonly description: string
}

function casesFor(url: string): Case[] {
  const random = randomFrom(SEED)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
  const names = Object.keys(CHANGES)
  return Array.from({ length: COUNT }, (_, i) => {
    // each change by itself first, then two of them, and more in the file
    const changes = i < names.length ? [names[i]!] : [pick(names), pick(names)]
    const more = i < names.length ? 'nothing' : pick(Object.keys(MORE))
    const resource = resourceOf(`set-${i}`, `c${i}_`)
    for (const change of changes) CHANGES[change]!(resource, url)
    const description = `${i}: ${[...changes, `followed by ${more}`].join(', ')}`
    return { file: `${i}.yaml`, text: `${stringify(resource)}${MORE[more]!(i)}`, description }
  })
}

const deployment = new Deployment()
const egress = createEgress({ allow: [], allowLoopback: true })
const variables = { GATEWAY_URL: 'http://localhost', EXAMPLE_URL: 'http://localhost' }
let cases: Case[] = []
let server: Awaited<ReturnType<typeof serve>>

beforeAll(async () => {
  server = await serve((request, response) => {
    response.writeHead(request.url === '/openapi.json' ? 200 : 404).end(documentOf('alpha'))
  })
  deployment.write('configmaps/docs/a.json', documentOf('alpha', 'beta'))
  deployment.write('configmaps/docs/overlay.yaml', {
    overlay: '1.0.0',
    info: { title: 'O', version: '1' },
    actions: [{ target: "$.paths['/beta']", remove: true }],
  })
  deployment.write('configmaps/docs/overlay-2.yaml', {
    overlay: '2.0.0',
    actions: [{ target: '$', remove: true }],
  })
  cases = casesFor(server.url)
  for (const { file, text } of cases) deployment.write(file, text)
  await deployment.start(variables)
}, 60_000)
afterAll(async () => {
  await deployment.close()
  await egress.close()
  await server.close()
})

/** What the gateway says against the resources of a file. */
function servedFaults({ file }: Case): string[] {
  const number = file.replace('.yaml', '')
  const isOf = (name: unknown) => [`set-${number}`, `more-${number}`, `tool${number}`].includes(String(name))
  const logged = deployment.logged
    .map(({ fields }) => fields)
    .filter(
      ({ resource, tool_set, tool }) =>
        resource === file || isOf(tool_set) || isOf(tool) || isOf(String(resource).split('/')[1]),
    )
    .map(({ reason }) => String(reason))
  const statuses = [`set-${number}`, `more-${number}`].map(name => deployment.status(name))
  return [
    ...logged,
    ...statuses.flatMap(status => (status?.phase === 'Error' ? [status.lastError ?? ''] : [])),
  ]
}

describe('toolset lint and serve', () => {
  it('agree about every file', async () => {
    const differences: string[] = []
    let refused = 0
    for (const one of cases) {
      const linted = await inspectFile(join(deployment.root, 'toolsets', one.file), {
        apiGroup: 'toolgate.dev',
        variables,
        egress,
      }).then(
        () => undefined,
        (error: Error) => error.message,
      )
      const served = servedFaults(one)
      if (linted !== undefined) refused++
      if ((linted === undefined) !== (served.length === 0))
        differences.push(
          `${one.description}: lint ${linted ?? 'accepts'}; serve ${served.join(' | ') || 'accepts'}`,
        )
    }
    expect(differences).toEqual([])
    expect(refused).toBeGreaterThan(COUNT / 4)
    expect(refused).toBeLessThan(COUNT)
  }, 60_000)
})
