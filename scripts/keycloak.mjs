/**
 * Runs a real Keycloak for the tests, on loopback, with the realm of test/services/keycloak/realm.json.
 * Usage: node scripts/keycloak.mjs fetch          brings the distribution into .tools/ (Maven, once)
 *        node scripts/keycloak.mjs start [PORT]   starts it, prints one JSON line {"ready":true,"url","issuer"} when it is ready,
 *                                                 and stops it on SIGTERM, SIGINT or when standard input ends
 * Needs Java 17 or newer (JAVA_HOME or `java` on the PATH).
 */
import { spawn, spawnSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const VERSION = '26.4.0'
const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const tools = join(root, '.tools')
const distribution = join(tools, `keycloak-${VERSION}`)
const READY_MS = 300_000

function fail(message, code = 1) {
  process.stderr.write(`keycloak.mjs: ${message}\n`)
  process.exit(code)
}

function requireCommand(command, args, mend) {
  const { status, error } = spawnSync(command, args, { stdio: 'ignore' })
  if (error !== undefined || status !== 0) fail(`${command} is missing. ${mend}`)
}

function fetchDistribution() {
  if (existsSync(join(distribution, 'bin', 'kc.sh'))) return
  requireCommand('mvn', ['--version'], 'Install Maven, e.g. apt-get install -y maven.')
  mkdirSync(tools, { recursive: true })
  // Maven notes below its working folder what it has unpacked, and then unpacks it nowhere else: a new folder each time.
  const cwd = mkdtempSync(join(tmpdir(), 'keycloak-fetch-'))
  const { status } = spawnSync(
    'mvn',
    [
      '--batch-mode',
      '--quiet',
      'dependency:unpack',
      `-Dartifact=org.keycloak:keycloak-quarkus-dist:${VERSION}:zip`,
      `-DoutputDirectory=${tools}`,
    ],
    { stdio: ['ignore', 'inherit', 'inherit'], cwd },
  )
  rmSync(cwd, { recursive: true, force: true })
  if (status !== 0 || !existsSync(join(distribution, 'bin', 'kc.sh')))
    fail('Maven could not bring the distribution.')
}

function freePort() {
  return new Promise(resolve => {
    const server = createServer()
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })
}

async function isReady(issuer) {
  try {
    return (await fetch(`${issuer}/.well-known/openid-configuration`)).status === 200
  } catch {
    return false
  }
}

async function start(port) {
  fetchDistribution()
  requireCommand(
    'java',
    ['-version'],
    'Install a Java 17 or 21 runtime, e.g. apt-get install -y openjdk-17-jre-headless.',
  )
  // A home of its own for each run: two runs do not see each other's realm, and nothing stays behind.
  const home = mkdtempSync(join(tmpdir(), 'keycloak-'))
  cpSync(realpathSync(distribution), home, { recursive: true })
  mkdirSync(join(home, 'data', 'import'), { recursive: true })
  copyFileSync(
    join(root, 'test', 'services', 'keycloak', 'realm.json'),
    join(home, 'data', 'import', 'realm.json'),
  )

  const url = `http://localhost:${port}`
  const issuer = `${url}/realms/platform`
  const server = spawn(
    'sh',
    [
      join(home, 'bin', 'kc.sh'),
      'start-dev',
      '--http-host=127.0.0.1',
      `--http-port=${port}`,
      `--hostname=${url}`,
      '--db=dev-mem',
      '--cache=local',
      '--import-realm',
    ],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx512m' },
    },
  )
  let log = ''
  for (const pipe of [server.stdout, server.stderr])
    pipe.on('data', chunk => {
      log = (log + chunk).slice(-20_000)
    })
  let stopping = false
  const stop = () => {
    if (stopping) return
    stopping = true
    server.kill('SIGTERM')
    setTimeout(() => server.kill('SIGKILL'), 10_000).unref()
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  process.stdin.on('end', stop).resume()
  server.once('exit', code => {
    rmSync(home, { recursive: true, force: true })
    if (!stopping) fail(`the server ended with ${code}:\n${log}`)
    process.exit(0)
  })

  for (const until = Date.now() + READY_MS; !(await isReady(issuer)); ) {
    if (stopping) return
    if (Date.now() > until) {
      stop()
      fail(`the server was not ready within ${READY_MS / 1000} s:\n${log}`)
    }
    await new Promise(resolve => setTimeout(resolve, 500))
  }
  process.stdout.write(`${JSON.stringify({ ready: true, url, issuer })}\n`)
}

const [command, port] = process.argv.slice(2)
if (command === 'fetch') fetchDistribution()
else if (command === 'start') await start(port === undefined ? await freePort() : Number(port))
else fail('say fetch or start', 64)
