/** Shared by the scripts that run a Java server for the tests: Java, Maven, free ports, readiness and stop. */
import { spawnSync } from 'node:child_process'
import { createServer } from 'node:net'

const STOP_MS = 10_000
const MAX_LOG_CHARS = 20_000

/** Prints the message and ends the process. */
export function fail(message, code = 1) {
  process.stderr.write(`${process.argv[1].split('/').at(-1)}: ${message}\n`)
  process.exit(code)
}

export function requireJava() {
  requireCommand('java', ['-version'], 'Install Java 17, e.g. apt-get install -y openjdk-17-jre-headless.')
}

/** @returns whether Maven succeeded; its output is shown */
export function runMaven(cwd, ...args) {
  requireCommand('mvn', ['--version'], 'Install Maven, e.g. apt-get install -y maven.')
  const stdio = ['ignore', 'inherit', 'inherit']
  return spawnSync('mvn', ['--batch-mode', '--quiet', ...args], { stdio, cwd }).status === 0
}

function requireCommand(command, args, fix) {
  const { status, error } = spawnSync(command, args, { stdio: 'ignore' })
  if (error !== undefined || status !== 0) fail(`${command} is missing. ${fix}`)
}

export function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer())
  const opened = servers.map(
    server => new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(server.address().port))),
  )
  return Promise.all(opened).then(ports => {
    for (const server of servers) server.close()
    return ports
  })
}

/**
 * Prints the ready line once the server is ready, and stops it on SIGTERM, SIGINT or when standard input ends. Fails with the
 * server's log if it ends early or is not ready in time.
 * @param child the server's process, its output piped
 */
export async function supervise(child, { isReady, readyMs, pollMs, readyLine, cleanUp }) {
  let log = ''
  for (const pipe of [child.stdout, child.stderr])
    pipe.on('data', chunk => {
      log = (log + chunk).slice(-MAX_LOG_CHARS)
    })
  let stopping = false
  let notReady
  const stop = () => {
    if (stopping) return
    stopping = true
    child.kill('SIGTERM')
    setTimeout(() => child.kill('SIGKILL'), STOP_MS).unref()
  }
  process.on('SIGTERM', stop)
  process.on('SIGINT', stop)
  process.stdin.on('end', stop).resume()
  child.once('exit', (code, signal) => {
    cleanUp()
    if (notReady !== undefined) fail(`${notReady}:\n${log}`)
    if (!stopping) fail(`the server ended with ${signal ?? `code ${code}`}:\n${log}`)
    process.exit(0)
  })
  for (const until = Date.now() + readyMs; !(await isReady()); ) {
    if (stopping) return
    if (Date.now() > until) {
      // the end of the server is waited for: it may need SIGKILL, and its files are removed after it
      notReady = `the server was not ready within ${readyMs / 1000} s`
      stop()
      return
    }
    await new Promise(resolve => setTimeout(resolve, pollMs))
  }
  process.stdout.write(`${JSON.stringify({ ready: true, ...readyLine })}\n`)
}
