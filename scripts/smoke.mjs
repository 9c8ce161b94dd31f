/**
 * Starts the deployment as a newcomer would, runs the demos against it, and stops it. No process or temporary file remains, except after SIGKILL.
 *   node scripts/smoke.mjs [PACKAGE.tgz]      with a package: installed offline in an empty folder, by a user with an empty home directory
 * SMOKE_PATIENCE=5 multiplies the limits of installation, start, demo and stop, for a machine that is busy.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'

const PATIENCE = Number(process.env.SMOKE_PATIENCE ?? 1)
const INSTALL_MS = 120_000 * PATIENCE
const READY_MS = 120_000 * PATIENCE
const DEMO_MS = 150_000 * PATIENCE
const STOP_MS = 20_000 * PATIENCE
/** The example stage of the installed package, with no working hours. */
const STAGE = { STAGES: 'node_modules/toolgate/deploy/stages/refuse-deletion.mjs', DELETION_HOURS: '0-0' }
const PORTS = ['GATEWAY_PORT', 'API_PORT', 'AUTH_PORT', 'METRICS_PORT', 'EXAMPLE_PORT']

/** Its own group, so that all that npm starts can be ended together. */
function run(command, args, env = {}) {
  const child = spawn(command, args, {
    ...place,
    env: { ...place.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  child.ended = new Promise(resolve => child.once('exit', (code, signal) => resolve(code ?? signal)))
  child.end = signal => {
    try {
      process.kill(-child.pid, signal)
    } catch {} // the group is gone already
  }
  return child
}

function within(ms, what, promise) {
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${what} took longer than ${ms / 1000} s`)), ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** The only line on stdout that begins with `{`. */
async function readyLine(child) {
  for await (const line of createInterface({ input: child.stdout })) {
    process.stdout.write(`${line}\n`)
    if (!line.startsWith('{')) continue
    child.stdout.resume()
    return JSON.parse(line)
  }
  throw new Error('the deployment ended before it was ready')
}

async function expectOk(url) {
  const response = await fetch(url, { signal: AbortSignal.timeout(5000) })
  await response.arrayBuffer()
  if (response.status !== 200) throw new Error(`GET ${url} responded with ${response.status}, not 200`)
}

const folder = mkdtempSync(join(tmpdir(), 'toolgate-smoke-'))
const ports = Object.fromEntries(PORTS.map(name => [name, '0']))
const [tarball] = process.argv.slice(2)
/** Where the commands run, and their environment. */
let place = { env: process.env }
let npm
let gateway
let demo
function cleanUp() {
  npm?.end('SIGKILL')
  demo?.end('SIGKILL')
  gateway?.end('SIGKILL')
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
// the processes have their own groups: Ctrl-C in a terminal does not reach them
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(signal, () => {
    cleanUp()
    process.exit(1)
  })

/** Installs the package alone. Everything is in it, so the registry cannot be reached. */
async function install(path) {
  const cwd = join(folder, 'empty')
  mkdirSync(cwd)
  const env = { HOME: join(folder, 'home'), PATH: process.env.PATH, npm_config_offline: 'true', CI: 'true' }
  mkdirSync(env.HOME)
  place = { cwd, env }
  npm = run('npm', ['install', '--no-audit', '--no-fund', resolve(path)])
  npm.stdout.pipe(process.stdout)
  const code = await within(INSTALL_MS, 'the installation of the package', npm.ended)
  if (code !== 0) throw new Error(`npm install failed (exit code or signal: ${code})`)
}

/** The stage of STAGE refuses a deletion before its arguments are validated. */
async function expectRefused({ gateway_url, auth_url }) {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    // the policy allows it to delete
    client_id: 'demo-admin',
    client_secret: 'demo-admin-secret',
  })
  const grant = await (
    await fetch(`${auth_url}/protocol/openid-connect/token`, { method: 'POST', body })
  ).json()
  const response = await fetch(`${gateway_url}/mcp/tools/call`, {
    method: 'POST',
    headers: { authorization: `Bearer ${grant.access_token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'shop_removeCartItem', arguments: {} }),
  })
  const { message } = await response.json()
  if (response.status !== 403 || !/working hours/.test(message))
    throw new Error(`the example stage did not refuse the call: ${response.status} ${message}`)
  console.log('smoke: the example stage refused the call to a tool that deletes')
}

try {
  if (tarball !== undefined) await install(tarball)
  const command = tarball === undefined ? ['npm', ['start']] : ['npx', ['toolgate', 'serve']]
  const began = Date.now()
  gateway = run(...command, {
    ...ports,
    ...(tarball === undefined ? {} : STAGE),
    DATA_DIR: join(folder, 'data'),
  })
  const ready = await within(READY_MS, 'the start of the deployment', readyLine(gateway))
  if (ready.ready !== true) throw new Error('the ready line does not contain "ready":true')
  console.log(`smoke: ready after ${((Date.now() - began) / 1000).toFixed(1)} s`)
  for (const path of ['', '/docs', '/docs/swagger-ui.css', '/redoc/redoc.standalone.js'])
    await expectOk(path === '' ? `${ready.gateway_url}/health` : `${ready.api_url}${path}`)
  const urls = ['--url', ready.gateway_url, '--auth-url', ready.auth_url]
  for (const more of [[], ['--control-plane', '--api-url', ready.api_url]]) {
    demo = run('npx', ['toolgate', 'demo', ...urls, ...more])
    demo.stdout.pipe(process.stdout)
    const code = await within(DEMO_MS, 'the demo', demo.ended)
    if (code !== 0) throw new Error(`the demo failed (exit code or signal: ${code})`)
  }
  if (tarball !== undefined) await expectRefused(ready)
  gateway.end('SIGTERM')
  await within(STOP_MS, 'the stop of the deployment', gateway.ended)
  console.log('smoke: the deployment started, the demos passed, and the deployment stopped')
} catch (error) {
  console.error(`smoke: ${error.message}`)
  process.exitCode = 1
} finally {
  cleanUp()
}
