/** The client scenarios of the official conformance suite with the gateway as client of MCP servers; what it does not support is listed with its reason. */
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Deployment, deploy } from '../fixtures/deployment.ts'
import { servicesRequired } from '../fixtures/redis-server.ts'

const TOOLS = resolve('.tools/conformance/node_modules')
const NODE = join(TOOLS, 'node/bin/node')
const COMMAND = join(TOOLS, '@modelcontextprotocol/conformance/dist/index.js')
const CLIENT = resolve('test/fixtures/conformance/upstream-client.mjs')
const missing = !existsSync(COMMAND) && !servicesRequired()
const HINT = 'needs the suite (scripts/services.sh conformance)'

const PASSED: readonly string[] = [
  'initialize',
  'tools_call',
  'elicitation-sep1034-client-defaults',
  'sse-retry',
  'request-metadata',
  'sep-2322-client-request-state',
  'http-standard-headers',
  'http-custom-headers',
  'http-invalid-tool-headers',
  'json-schema-ref-no-deref',
  'json-schema-2020-12-preservation',
  'auth/client-credentials-basic',
]

/** Checks of passed scenarios that a gateway cannot pass. */
const NOT_KEPT: { readonly [check: string]: string } = {
  'json-schema-2020-12-client-$schema-preserved':
    'the schemas that the gateway lists are its own, in the dialect that MCP takes for granted (2020-12)',
  'json-schema-2020-12-client-additionalProperties-preserved':
    'a list leaves out `additionalProperties: false`, which costs tokens in every tool and adds nothing for a model; the check of arguments has it',
}

/** A scenario belongs to the first pattern that it matches. */
const NOT_SUPPORTED: readonly (readonly [RegExp, string])[] = [
  [
    /^auth\/client-credentials-jwt$|^auth\/wif-jwt-bearer$/,
    'the gateway authenticates at token endpoints with a secret (basic, post) or none, not with signed assertions',
  ],
  [
    /^auth\/enterprise-managed-authorization$/,
    'ID-JAG needs an assertion of the identity provider of the user',
  ],
  [/^auth\/dpop/, 'the gateway sends bearer tokens'],
  [
    /^auth\//,
    'the operator configures server, client and scopes of an authorization code grant, and the user consents in a browser: a gateway that discovered or registered by itself would send credentials where no operator allowed it',
  ],
  [/^sep-2640-client-/, 'a gateway passes resources on, and reads skills for no model'],
]

describe.skipIf(missing)(`conformance of the upstream side: ${HINT}`, () => {
  const output = mkdtempSync(join(tmpdir(), 'conformance-upstream-'))
  const toolSets = join(output, 'toolsets')
  let gateway: Deployment
  let token: string
  beforeAll(async () => {
    mkdirSync(toolSets)
    gateway = await deploy({ TOOLSETS: toolSets, SSE_LIMITER_ENABLED: 'false' })
    token = await gateway.token('demo-admin')
  }, 120_000)
  afterAll(async () => {
    await gateway?.stop()
    rmSync(output, { recursive: true, force: true })
  })

  async function run(args: readonly string[]): Promise<{ code: unknown; text: string }> {
    const child = spawn(NODE, [COMMAND, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        UPSTREAM_GATEWAY: gateway.url,
        UPSTREAM_TOKEN: token,
        UPSTREAM_TOOLSETS: toolSets,
      },
    })
    let text = ''
    for (const pipe of [child.stdout, child.stderr]) pipe.on('data', chunk => (text += chunk))
    return { code: await new Promise(done => child.once('close', done)), text }
  }

  it('every client scenario of the suite is passed or has a reason', async () => {
    const { text } = await run(['list', '--client'])
    const scenarios = [...text.matchAll(/^ {2}- (\S+) \[/gm)].map(([, name]) => name!)
    expect(scenarios.length).toBeGreaterThan(40)
    const unknown = scenarios.filter(
      name => !PASSED.includes(name) && !NOT_SUPPORTED.some(([pattern]) => pattern.test(name)),
    )
    expect(unknown).toEqual([])
    expect(PASSED.filter(name => !scenarios.includes(name))).toEqual([])
  })

  it.each(PASSED)(
    'passes %s',
    async scenario => {
      const results = mkdtempSync(join(output, 'run-'))
      const command = `${process.execPath} ${CLIENT}`
      const args = [
        'client',
        '--command',
        command,
        '--scenario',
        scenario,
        '--timeout',
        '60000',
        '-o',
        results,
      ]
      const { code, text } = await run(args)
      const checks = readdirSync(results, { recursive: true, encoding: 'utf8' })
        .filter(name => name.endsWith('checks.json'))
        .flatMap(name => JSON.parse(readFileSync(join(results, name), 'utf8')))
      const open = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
      const failed = open.filter(({ id }) => NOT_KEPT[id] === undefined)
      const why = [...failed.map(check => JSON.stringify(check).slice(0, 1_500)), text.slice(-1_500)].join(
        '\n',
      )
      expect(failed, why).toEqual([])
      expect(code === 0, why).toBe(open.length === 0)
      expect(
        checks.some(({ status }) => status === 'SUCCESS'),
        why,
      ).toBe(true)
    },
    120_000,
  )
})
