/**
 * Runs a real Apache Kafka for the tests: one node in KRaft mode, on loopback, from the jars that test/services/kafka/pom.xml names.
 * Usage: node scripts/kafka.mjs fetch                brings the jars into .tools/ (Maven, once)
 *        node scripts/kafka.mjs start [PORT [DIR]]   starts it, prints one JSON line {"ready":true,"brokers":"127.0.0.1:PORT","pid":…}
 *                                                    when it answers, and stops it on SIGTERM, SIGINT or when standard input ends.
 *                                                    DIR holds its data and is kept; without it, a new one that goes with the broker.
 * Needs Java 17 (JAVA_HOME or `java` on the PATH).
 */
import { spawn, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const folder = join(root, 'test', 'services', 'kafka')
const pom = readFileSync(join(folder, 'pom.xml'), 'utf8')
const VERSION = /<artifactId>kafka_2\.13<\/artifactId>\s*<version>([^<]+)</.exec(pom)[1]
const tools = join(root, '.tools')
const jars = join(tools, `kafka-${VERSION}`)
const READY_MS = 120_000
/** Any 16 bytes in URL-safe base64: the cluster has one node and lives as long as its folder. */
const CLUSTER = 'dG9vbGdhdGUta2Fma2EtMQ'

function fail(message, code = 1) {
  process.stderr.write(`kafka.mjs: ${message}\n`)
  process.exit(code)
}

function requireCommand(command, args, mend) {
  const { status, error } = spawnSync(command, args, { stdio: 'ignore' })
  if (error !== undefined || status !== 0) fail(`${command} is missing. ${mend}`)
}

function fetchJars() {
  if (existsSync(join(jars, `kafka_2.13-${VERSION}.jar`))) return
  requireCommand('mvn', ['--version'], 'Install Maven, e.g. apt-get install -y maven.')
  mkdirSync(tools, { recursive: true })
  // Built aside and moved as a whole: what was broken off must not pass for a distribution.
  const cwd = mkdtempSync(join(tools, '.kafka-'))
  copyFileSync(join(folder, 'pom.xml'), join(cwd, 'pom.xml'))
  const { status } = spawnSync(
    'mvn',
    [
      '--batch-mode',
      '--quiet',
      'dependency:copy-dependencies',
      '-DincludeScope=runtime',
      `-DoutputDirectory=${join(cwd, 'jars')}`,
    ],
    { stdio: ['ignore', 'inherit', 'inherit'], cwd },
  )
  if (status === 0) renameSync(join(cwd, 'jars'), jars)
  rmSync(cwd, { recursive: true, force: true })
  if (status !== 0) fail('Maven could not bring the jars.')
}

function freePorts(count) {
  const servers = Array.from({ length: count }, () => createServer())
  const opened = servers.map(
    server => new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(server.address().port))),
  )
  return Promise.all(opened).then(ports => {
    for (const server of servers) server.close()
    return ports
  })
}

function properties(dir, port, controllerPort) {
  return Object.entries({
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    'controller.listener.names': 'CONTROLLER',
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${port}`,
    'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
    'log.dirs': join(dir, 'log'),
    'num.partitions': 3,
    'num.network.threads': 1,
    'num.io.threads': 2,
    'offsets.topic.num.partitions': 1,
    'offsets.topic.replication.factor': 1,
    'transaction.state.log.num.partitions': 1,
    'transaction.state.log.replication.factor': 1,
    'transaction.state.log.min.isr': 1,
    'group.initial.rebalance.delay.ms': 0,
    'log.cleaner.dedupe.buffer.size': 2_000_000,
  })
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

/** A small heap and no optimizing compiler: the broker of a test serves for seconds. */
function java(main, ...args) {
  return [
    '-Xms128m',
    '-Xmx256m',
    '-XX:+UseSerialGC',
    '-XX:TieredStopAtLevel=1',
    '-Xshare:auto',
    '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
    '-cp',
    join(jars, '*'),
    main,
    ...args,
  ]
}

function answers(port) {
  return new Promise(resolve => {
    const socket = connect({ host: '127.0.0.1', port })
    const end = yes => {
      socket.destroy()
      resolve(yes)
    }
    // ApiVersions v0 (key 18) as request 1 with an empty client id: an open port alone does not say that the broker serves
    socket.once('connect', () => socket.write(Buffer.from('0000000a00120000000000010000', 'hex')))
    socket.once('data', () => end(true))
    socket.once('error', () => end(false))
    socket.setTimeout(1000, () => end(false))
  })
}

async function start(wanted, kept) {
  fetchJars()
  requireCommand('java', ['-version'], 'Install Java 17, e.g. apt-get install -y openjdk-17-jre-headless.')
  const dir = kept ?? mkdtempSync(join(tmpdir(), 'kafka-'))
  mkdirSync(dir, { recursive: true })
  const [free, controllerPort] = await freePorts(2)
  const port = wanted || free
  const config = join(dir, 'server.properties')
  // the vote is remembered with the controller's address: a folder that is used again needs the same one
  const fresh = !existsSync(config)
  if (fresh) writeFileSync(config, properties(dir, port, controllerPort))
  else if (!readFileSync(config, 'utf8').includes(`PLAINTEXT://127.0.0.1:${port},`))
    fail(`${dir} belongs to a broker on another port.`, 64)
  if (fresh) {
    const formatted = spawnSync(
      'java',
      java('kafka.tools.StorageTool', 'format', '-t', CLUSTER, '-c', config),
    )
    if (formatted.status !== 0) fail(`the folder could not be prepared:\n${formatted.stderr}`)
  }
  const server = spawn('java', java('kafka.Kafka', config), { stdio: ['ignore', 'pipe', 'pipe'], cwd: dir })
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
    if (kept === undefined) rmSync(dir, { recursive: true, force: true })
    if (!stopping) fail(`the broker ended with ${code}:\n${log}`)
    process.exit(0)
  })
  for (const until = Date.now() + READY_MS; !(await answers(port)); ) {
    if (stopping) return
    if (Date.now() > until) {
      stop()
      fail(`the broker was not ready within ${READY_MS / 1000} s:\n${log}`)
    }
    await new Promise(resolve => setTimeout(resolve, 100))
  }
  process.stdout.write(`${JSON.stringify({ ready: true, brokers: `127.0.0.1:${port}`, pid: server.pid })}\n`)
}

const [command, port, dir] = process.argv.slice(2)
if (command === 'fetch') fetchJars()
else if (command === 'start') await start(Number(port ?? 0), dir)
else fail('say fetch or start', 64)
