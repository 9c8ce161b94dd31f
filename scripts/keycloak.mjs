/**
 * Runs a real Keycloak for the tests, on loopback, with the realm of test/services/keycloak/realm.json.
 * Usage: node scripts/keycloak.mjs fetch          downloads the distribution into .tools/ (Maven, once)
 *        node scripts/keycloak.mjs start [PORT]   starts it, prints one JSON line {"ready":true,"url","issuer"} when it is ready,
 *                                                 and stops it on SIGTERM, SIGINT or when standard input ends
 * Needs Java 17 or newer (`java` on the PATH), and Maven (`mvn`) for the download, which `start` makes too when it is missing.
 */
import { spawn } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fail, freePorts, requireJava, runMaven, supervise } from './java-server.mjs'

const VERSION = '26.4.0'
const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const tools = join(root, '.tools')
const distribution = join(tools, `keycloak-${VERSION}`)
const READY_MS = 300_000

function fetchDistribution() {
  if (existsSync(join(distribution, 'bin', 'kc.sh'))) return
  mkdirSync(tools, { recursive: true })
  // a new directory each time: Maven records below its working directory what it has unpacked, and does not unpack it again
  const cwd = mkdtempSync(join(tmpdir(), 'keycloak-fetch-'))
  const artifact = `org.keycloak:keycloak-quarkus-dist:${VERSION}:zip`
  const unpacked = runMaven(cwd, 'dependency:unpack', `-Dartifact=${artifact}`, `-DoutputDirectory=${tools}`)
  rmSync(cwd, { recursive: true, force: true })
  if (!unpacked || !existsSync(join(distribution, 'bin', 'kc.sh')))
    fail('Maven could not download Keycloak. See the output of Maven above.')
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
  requireJava()
  // a copy for each run: two runs do not share a realm, and nothing remains afterwards
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
      env: {
        ...process.env,
        JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx512m',
        // it runs for a minute: what the second compiler costs is never earned back
        JAVA_OPTS_APPEND: '-XX:TieredStopAtLevel=1',
      },
    },
  )
  await supervise(server, {
    isReady: () => isReady(issuer),
    readyMs: READY_MS,
    pollMs: 500,
    readyLine: { url, issuer },
    cleanUp: () => rmSync(home, { recursive: true, force: true }),
  })
}

const [command, port] = process.argv.slice(2)
if (command === 'fetch') fetchDistribution()
else if (command === 'start') await start(port === undefined ? (await freePorts(1))[0] : Number(port))
else fail('the first argument must be "fetch" or "start"', 64)
