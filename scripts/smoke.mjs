/** Starts the built deployment as a newcomer would, runs the demo against it, and stops it. It leaves neither process nor file behind. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const READY_MS = 120_000
const DEMO_MS = 150_000
const STOP_MS = 20_000
const PORTS = ['GATEWAY_PORT', 'API_PORT', 'AUTH_PORT', 'METRICS_PORT', 'EXAMPLE_PORT']

/** Its own group, so that all that npm starts can be ended together. */
function run(command, args, env = {}) {
  const child = spawn(command, args, {
    env: { ...process.env, ...env },
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

async function expectHealthy(url) {
  const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(5000) })
  if (response.status !== 200) throw new Error(`GET ${url}/health responded ${response.status}, not 200`)
}

const dataDir = mkdtempSync(join(tmpdir(), 'toolgate-smoke-'))
const ports = Object.fromEntries(PORTS.map(name => [name, '0']))
const gateway = run('npm', ['start'], { ...ports, DATA_DIR: dataDir })
let demo
process.once('SIGTERM', () => {
  demo?.end('SIGKILL')
  gateway.end('SIGKILL')
  process.exit(1)
})
try {
  const ready = await within(READY_MS, 'starting', readyLine(gateway))
  if (ready.ready !== true) throw new Error('the ready line does not say "ready":true')
  await expectHealthy(ready.gateway_url)
  demo = run('npx', ['toolgate', 'demo', '--url', ready.gateway_url, '--auth-url', ready.auth_url])
  demo.stdout.pipe(process.stdout)
  const code = await within(DEMO_MS, 'the demo', demo.ended)
  if (code !== 0) throw new Error(`the demo ended with ${code}`)
  gateway.end('SIGTERM')
  await within(STOP_MS, 'stopping', gateway.ended)
  console.log('smoke: started, demonstrated, stopped')
} catch (error) {
  console.error(`smoke: ${error.message}`)
  process.exitCode = 1
} finally {
  demo?.end('SIGKILL')
  gateway.end('SIGKILL')
  rmSync(dataDir, { recursive: true, force: true })
}
