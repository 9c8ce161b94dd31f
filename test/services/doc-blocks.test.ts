/**
 * Every command of the pages: executed here, found in the file that executes it, or with the reason why it cannot run; any other one fails the test.
 * `DOC_BLOCKS=all` also executes what takes longer than a minute. Data blocks without `…` are parsed; tool sets, tools and views are read as resources.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parseDocument } from 'yaml'
import { readResource } from '../../src/catalog/resource/resource.ts'
import { copyTemplate } from '../contract/store/pglite-template.ts'
import {
  type Cluster,
  POSTGRES_HINT,
  startCluster,
  WITHOUT_POSTGRES,
} from '../contract/store/postgres-cluster.ts'
import { built } from '../fixtures/built.ts'
import { type Deployment, deploy, post } from '../fixtures/deployment.ts'
import { freePorts } from '../fixtures/free-ports.ts'
import { neededProgram } from '../fixtures/needed-program.ts'

const CURL = neededProgram('curl', 'curl')
const ROOT = join(import.meta.dirname, '../..')
const FOLDERS = ['docs', 'policies', 'bench', 'console']
const PAGES = [
  ...['README.md', 'CONTRIBUTING.md', 'SECURITY.md'],
  ...FOLDERS.flatMap(folder =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter(path => path.endsWith('.md') && !/(^|\/)(node_modules|\.vitepress)\//.test(path))
      .map(path => `${folder}/${path}`),
  ),
]

interface Block {
  readonly page: string
  readonly language: string
  readonly text: string
  /** Page and first words, which identify it. */
  readonly name: string
}

const BLOCKS: readonly Block[] = PAGES.flatMap(page =>
  [...readFileSync(join(ROOT, page), 'utf8').matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(
    ([, language, text]) => ({
      page,
      language: language!,
      text: text!,
      name: `${page}: ${text!.split('\n')[0]!.slice(0, 40).trim()}`,
    }),
  ),
)
const COMMANDS = BLOCKS.filter(({ language }) => ['sh', 'bash', 'console'].includes(language))

interface Rule {
  readonly command: RegExp
  /** The file that executes it, and what in that file does. */
  readonly by?: readonly [file: string, text: string]
  /** Why no machine of ours executes it as it stands. */
  readonly cannot?: string
}

const FRESH = 'scripts/fresh-roots.sh'
const SMOKE = 'scripts/smoke.mjs'
const IMAGE = 'scripts/image.sh'
const CHECK = '.ci/run'
const PART = 'runs a part of what npm test runs, which .ci/run executes'

/** For the commands of blocks that are not executed here. The first rule counts. */
const RULES: readonly Rule[] = [
  // on a machine with Node and npm only
  { command: /^git clone /, by: [FRESH, 'git archive HEAD'] },
  { command: /^cd toolgate$/, by: [FRESH, 'cd toolgate'] },
  { command: /^npm ci$/, by: [FRESH, 'npm ci'] },
  { command: /^npm start$/, by: [SMOKE, "['npm', ['start']]"] },
  { command: /^npx toolgate serve$/, by: [SMOKE, "['npx', ['toolgate', 'serve']]"] },
  { command: /^npx toolgate demo( --control-plane)?$/, by: [SMOKE, "'npx', ['toolgate', 'demo'"] },
  { command: /^npm install toolgate-/, by: [SMOKE, "run('npm', ['install'"] },
  { command: /^npx toolgate --help$/, by: ['test/unit/app/cli/help.test.ts', "'--help'"] },
  {
    command: /^npx toolgate bridge /,
    by: ['test/integration/bridge/bridge.test.ts', "[BIN, 'bridge'"],
  },
  // the image and the chart
  { command: /^npm run pack /, by: [IMAGE, 'npm run --silent pack -- .pack'] },
  { command: /^buildah build /, by: [IMAGE, 'buildah build '] },
  { command: /^podman run /, by: [IMAGE, 'podman run '] },
  {
    command: /^(kubectl|helm) /,
    by: ['test/services/helm-chart.test.ts', 'the commands of docs/install.md install it'],
  },
  // the whole check
  { command: /^bash \.ci\/run$/, cannot: 'this test is a part of it' },
  { command: /^npm test$/, by: [CHECK, 'npm test'] },
  { command: /^npm run (lint|typecheck|build|policy:test|bench:gate)$/, by: [CHECK, 'npm run --silent '] },
  { command: /^npm run test:unit$/, cannot: PART },
  { command: /^(CHECK=long )?npx vitest run test\//, cannot: PART },
  { command: /^npm run check:long$/, cannot: PART },
  { command: /^npm run test:dates$/, by: [CHECK, 'test/dates/run.mjs'] },
  { command: /^npm run test:canary$/, by: [CHECK, 'test/canary/judge.mjs'] },
  { command: /^npm run build:console$/, by: ['package.json', 'npm run --silent build:console'] },
  { command: /^npm run test:nodes$/, by: [CHECK, 'scripts/test-nodes.sh'] },
  { command: /^npm run generate$/, by: ['test/integration/generated-files.test.ts', 'scripts/generate.mjs'] },
  // the policies
  { command: /^npm run policy:build$/, by: ['test/e2e/policy-walk.test.ts', 'npm run policy:build'] },
  {
    command: /^npx toolgate policy build /,
    by: ['test/e2e/policy-walk.test.ts', 'npx toolgate policy build --bundle candidate.tar.gz'],
  },
  { command: /^curl .*\/mcp\/health/, by: ['test/e2e/policy-walk.test.ts', '/mcp/health'] },
  {
    command: /^npx toolgate policy explain /,
    by: ['test/e2e/policy-operations.test.ts', "command(['explain'"],
  },
  { command: /^npx toolgate policy replay/, by: ['test/e2e/policy-operations.test.ts', "command(['replay'"] },
  {
    command: /^npx toolgate policy diff /,
    by: ['test/integration/policy/diff-at-scale.test.ts', "['policy', 'diff'"],
  },
  // what takes long
  {
    command: /^npm run (chaos|stalls|fuzz) -- --minutes/,
    cannot: 'takes as many minutes; test/chaos, test/stalls and test/fuzz have short forms',
  },
  {
    command: /^npm run upgrade -- --from/,
    cannot: 'builds another version; test/faults/rolling.test.ts restarts the planes of one version',
  },
  { command: /^npm run bench(:\w+)?\b/, cannot: 'measures for minutes; test/unit/bench checks its verdicts' },
]

/** Block → why no machine of ours can execute it. */
const CANNOT: Readonly<Record<string, string>> = {
  'docs/install.md: npm install --global toolgate-0.1.0.tgz':
    'needs systemd as the first process; test/architecture/deploy.test.ts verifies the unit',
  'bench/README.md: npm ci': 'measures for an hour; each command has a short form in the check',
  'bench/README.md: bash scripts/services.sh nginx haproxy': 'measures for an hour',
  'bench/where-time-goes.md: npm run build':
    'measures for a minute; test/services/bench-profile.test.ts runs the command',
}

/** `DOC_BLOCKS=all`: also what takes longer than a minute. */
const ALL_BLOCKS = process.env.DOC_BLOCKS === 'all'
/** Blocks that run `curl`. */
const WITH_CURL = [
  'docs/guide.md: TOKEN=',
  'docs/portal.md: curl',
  'docs/troubleshooting.md: curl',
  'bench/where-time-goes.md: curl',
]
/** Blocks whose tests below are skipped in this run. Their commands are neither executed nor without a test. */
const SKIPPED: readonly string[] = [
  ...(CURL.isMissing ? WITH_CURL : []),
  ...(WITHOUT_POSTGRES ? ['docs/backup.md: toolgate db copy'] : []),
  ...(ALL_BLOCKS ? [] : ['docs/guide.md: ROLE=control-plane']),
]

let deployment: Deployment
let cluster: Cluster | undefined
const folder = mkdtempSync(join(tmpdir(), 'doc-blocks-'))
const DATA_DIR = join(folder, 'data')
const executed = new Set<string>()

interface Said {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** The block whose name begins so, marked as executed. */
function block(start: string): string {
  const found = COMMANDS.filter(({ name }) => name.startsWith(start))
  expect(found.map(({ name }) => name)).toHaveLength(1)
  executed.add(found[0]!.name)
  return found[0]!.text
}

/** The commands of a block, without comments. */
const linesOf = (text: string): string[] =>
  text
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map(line => line.replace(/\s+# .*$/, '').trim())
    .filter(line => line !== '')

/** In a shell in which `npx toolgate` is the build, and the addresses are those of the deployment. */
function sh(text: string, env: Readonly<Record<string, string>> = {}): Promise<Said> {
  const { gateway_url, api_url, auth_url, metrics_url } = deployment.running.addresses
  const own = text
    .replaceAll('http://localhost:8080', gateway_url)
    .replaceAll('http://localhost:8081', api_url)
    .replaceAll(/http:\/\/localhost:8082\/realms\/platform/g, auth_url)
    .replaceAll('http://localhost:9464', metrics_url)
  const options = {
    cwd: folder,
    env: { PATH: `${folder}/bin:${process.env.PATH}`, HOME: folder, ...env },
    timeout: 120_000,
  }
  return new Promise(resolve =>
    execFile('bash', ['-euo', 'pipefail', '-c', own], options, (error, out, err) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), out, err }),
    ),
  )
}

async function ok(text: string, env?: Readonly<Record<string, string>>): Promise<string> {
  const { code, out, err } = await sh(text, env)
  if (code !== 0) throw new Error(`exit code ${code} of\n${text}\n${out}\n${err}`)
  return out
}

beforeAll(async () => {
  mkdirSync(join(folder, 'bin'))
  for (const [name, body] of [
    ['toolgate', 'exec "$NODE" "$TOOLGATE" "$@"'],
    ['npx', '[ "$1" = toolgate ] || exit 99; shift; exec "$NODE" "$TOOLGATE" "$@"'],
  ]) {
    const path = join(folder, 'bin', name!)
    const head = `#!/bin/sh\nNODE='${process.execPath}' TOOLGATE='${built('cli/index.js')}'\n`
    writeFileSync(path, `${head}${body}\n`)
    chmodSync(path, 0o755)
  }
  deployment = await deploy({ DATA_DIR })
}, 240_000)
afterAll(async () => {
  await deployment?.stop()
  await cluster?.stop()
  rmSync(folder, { recursive: true, force: true })
})

describe('command blocks', () => {
  it.skipIf(CURL.isMissing)(`docs/guide.md: a token, the tools, a call${CURL.hint}`, async () => {
    const out = await ok(block('docs/guide.md: TOKEN='))
    expect(out).toContain('"shop_listProducts"')
    expect(out).toContain('"isError":false')
  })

  it('docs/guide.md: the configuration in git', async () => {
    const token = await deployment.token('demo-admin')
    const text = block('docs/guide.md: export TOOLGATE_TOKEN=…').replace(/^export .*\n/, '')
    const { api_url } = deployment.running.addresses
    const out = await ok(text, { TOOLGATE_TOKEN: token, API_URL: api_url })
    expect(out).toContain('Applied.')
    expect(readFileSync(join(folder, 'toolgate.yaml'), 'utf8')).toContain('kind: Configuration')
  })

  it.skipIf(CURL.isMissing)(`docs/portal.md: an API is published${CURL.hint}`, async () => {
    const { api_url } = deployment.running.addresses
    const token = await deployment.token('demo-admin')
    const api = await post(
      `${api_url}/v1/tenants/acme/apis`,
      { name: 'Orders', version: '1', path: '/doc-blocks', upstream_url: 'https://orders.example' },
      token,
    )
    expect([api.status, api.text]).toEqual([201, expect.any(String)])
    const out = await ok(block('docs/portal.md: curl'), { API: api_url, ID: api.json.id, TOKEN: token })
    expect(JSON.parse(out)).toMatchObject({ portal_visibility: true, visibility: 'public' })
  })

  it.skipIf(CURL.isMissing)(`docs/troubleshooting.md: the first three signals${CURL.hint}`, async () => {
    const out = await ok(block('docs/troubleshooting.md: curl'))
    for (const expected of ['"status":"healthy"', 'platform_degraded{part=', 'challenge'])
      expect(out).toContain(expected)
  })

  it.skipIf(CURL.isMissing)(`bench/where-time-goes.md: the timing of one call${CURL.hint}`, async () => {
    const env = { GATEWAY: deployment.url, ADMIN: await deployment.token('demo-admin') }
    expect(await ok(block('bench/where-time-goes.md: curl'), env)).toMatch(/^server-timing: .*total;dur=/im)
  })

  it('docs/backup.md: backup and restore', async () => {
    const [backup, restore] = linesOf(block('docs/backup.md: toolgate db backup'))
    const [from, to] = ['from', 'to'].map(name => ({ DATA_DIR: join(folder, name), DATABASE_URL: 'pglite:' }))
    await copyTemplate(join(from!.DATA_DIR, 'postgres'))
    await ok('toolgate db migrate', from)
    expect(await ok(backup!, from)).toMatch(/^wrote \S+: \d+ rows$/m)
    await copyTemplate(join(to!.DATA_DIR, 'postgres'))
    expect(await ok(restore!, to)).toMatch(/^restored and verified: \d+ rows$/m)
  })

  it.skipIf(WITHOUT_POSTGRES)(`docs/backup.md: copy to PostgreSQL${POSTGRES_HINT}`, async () => {
    cluster = await startCluster()
    const url = await cluster.database('copied')
    const text = block('docs/backup.md: toolgate db copy').replace(/'postgres:[^']*'/, `'${url}'`)
    expect(await ok(text, { DATA_DIR: join(folder, 'from'), DATABASE_URL: 'pglite:' })).toMatch(
      /^copied and verified: \d+ rows$/m,
    )
  })

  it.runIf(ALL_BLOCKS)(
    'docs/guide.md: the planes apart',
    async () => {
      const lines = linesOf(block('docs/guide.md: ROLE=control-plane'))
      expect(lines).toHaveLength(3)
      const [gateway, api, auth, metrics, other] = await freePorts(5)
      const ports: Record<string, number> = { 8080: gateway!, 8081: api!, 8082: auth!, 9465: other! }
      const own = (line: string) => line.replaceAll(/\b(8080|8081|8082|9465)\b/g, port => String(ports[port]))
      const env = {
        PATH: `${folder}/bin:${process.env.PATH}`,
        HOME: folder,
        LOG_LEVEL: 'error',
        EXAMPLE_PORT: '0',
        GATEWAY_PORT: String(gateway),
        API_PORT: String(api),
        AUTH_PORT: String(auth),
        METRICS_PORT: String(metrics),
        WORKERS: '1',
      }
      // the deployment of the other blocks holds the data folder beside
      const cwd = join(folder, 'apart')
      mkdirSync(cwd)
      const running = []
      try {
        for (const line of lines.slice(0, 2)) {
          const child = spawn('bash', ['-c', `exec env ${own(line)}`], { cwd, env })
          running.push(child)
          let isReady = false
          for await (const said of createInterface({ input: child.stdout! })) {
            isReady = said.startsWith('{"ready":true')
            if (isReady) break
          }
          expect(isReady, line).toBe(true)
        }
        const urls = `--url http://localhost:${gateway} --api-url http://localhost:${api} --auth-url http://localhost:${auth}/realms/platform`
        expect(await ok(`${lines[2]} ${urls}`)).toBeTruthy()
      } finally {
        for (const child of running) {
          child.kill('SIGTERM')
          if (child.exitCode === null) await once(child, 'exit')
        }
      }
    },
    120_000,
  )
})

describe('the commands of other blocks', () => {
  const others = COMMANDS.filter(
    ({ name }) => !Object.keys(CANNOT).some(start => name.startsWith(start)),
  ).flatMap(({ name, text }) =>
    linesOf(text)
      .flatMap(line => line.split(' && '))
      .filter(line => !line.startsWith('#'))
      .map(line => ({ name, line: line.trim() })),
  )
  const ruleOf = (line: string) => RULES.find(({ command }) => command.test(line))

  it('are executed by a file, or have a reason why they cannot be', () => {
    const skipped = COMMANDS.filter(({ name }) => SKIPPED.some(start => name.startsWith(start)))
    expect(skipped).toHaveLength(SKIPPED.length)
    const rest = others.filter(({ name }) => !executed.has(name) && !skipped.some(each => each.name === name))
    expect(rest.length).toBeGreaterThan(30)
    expect(rest.filter(({ line }) => ruleOf(line) === undefined)).toEqual([])
    expect(RULES.filter(rule => !rest.some(({ line }) => ruleOf(line) === rule))).toEqual([])
  })

  it('stand in the files that execute them', () => {
    const missing = RULES.filter(
      ({ by, cannot }) => cannot === undefined && !readFileSync(join(ROOT, by![0]), 'utf8').includes(by![1]),
    )
    expect(missing).toEqual([])
  })

  it('and blocks that cannot be executed are there', () => {
    const names = COMMANDS.map(({ name }) => name)
    expect(Object.keys(CANNOT).filter(start => !names.some(name => name.startsWith(start)))).toEqual([])
  })
})

describe('data blocks', () => {
  const data = BLOCKS.filter(
    ({ language, text }) => ['yaml', 'json'].includes(language) && !text.includes('…'),
  )

  it.each(data)('$name', ({ language, text }) => {
    if (language === 'json') return void JSON.parse(text)
    const document = parseDocument(text)
    expect(document.errors).toEqual([])
    const value = document.toJS() as { readonly kind?: unknown } | null
    if (!['ToolSet', 'Tool', 'ToolView'].includes(String(value?.kind))) return
    const result = readResource(value, 'toolgate.dev')
    expect(result.ok ? [] : result.faults).toEqual([])
  })
})
