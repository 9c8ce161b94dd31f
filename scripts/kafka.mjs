/**
 * Runs a real Apache Kafka for the tests: one node in KRaft mode, on loopback, from the jars that test/services/kafka/pom.xml names.
 * Usage: node scripts/kafka.mjs fetch                downloads the jars into .tools/ (Maven, once)
 *        node scripts/kafka.mjs start [PORT [DIR [ADVERTISED [EXTRAS]]]]
 *                                                    starts it, prints one JSON line {"ready":true,"brokers":"127.0.0.1:PORT","pid":…}
 *                                                    when it is ready, and stops it on SIGTERM, SIGINT or when standard input ends.
 *                                                    DIR holds its data and is kept; without it, a temporary one is used.
 *                                                    ADVERTISED is the port of a proxy in front, which clients are sent to.
 *                                                    EXTRAS is a JSON file {"listeners":{"SSL":PORT},"properties":{…},"format":[…]}: further
 *                                                    listeners, properties, and options of the formatting tool.
 * Needs Java 17 (`java` on the PATH), and Maven (`mvn`) for the download, which `start` makes too when the jars are missing.
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
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fail, freePorts, requireJava, runMaven, supervise } from './java-server.mjs'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const folder = join(root, 'test', 'services', 'kafka')
const pom = readFileSync(join(folder, 'pom.xml'), 'utf8')
const VERSION = /<artifactId>kafka_2\.13<\/artifactId>\s*<version>([^<]+)</.exec(pom)[1]
const tools = join(root, '.tools')
const jars = join(tools, `kafka-${VERSION}`)
const READY_MS = 120_000
/** Any 16 bytes in URL-safe base64: the cluster has one node and exists as long as its directory. */
const CLUSTER = 'dG9vbGdhdGUta2Fma2EtMQ'

function fetchJars() {
  if (existsSync(join(jars, `kafka_2.13-${VERSION}.jar`))) return
  mkdirSync(tools, { recursive: true })
  // a temporary directory, renamed when complete: an interrupted download must not pass for a distribution
  const cwd = mkdtempSync(join(tools, '.kafka-'))
  copyFileSync(join(folder, 'pom.xml'), join(cwd, 'pom.xml'))
  const output = join(cwd, 'jars')
  const copied = runMaven(
    cwd,
    ...['dependency:copy-dependencies', '-DincludeScope=runtime', `-DoutputDirectory=${output}`],
  )
  if (copied) renameSync(output, jars)
  rmSync(cwd, { recursive: true, force: true })
  if (!copied) fail('Maven could not download the Kafka jars. See the output of Maven above.')
}

function properties(dir, port, controllerPort, advertised, extras) {
  const more = Object.entries(extras.listeners ?? {})
  const addresses = more.map(([name, at]) => `,${name}://127.0.0.1:${at}`).join('')
  return Object.entries({
    'process.roles': 'broker,controller',
    'node.id': 1,
    'controller.quorum.voters': `1@127.0.0.1:${controllerPort}`,
    'controller.listener.names': 'CONTROLLER',
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controllerPort}${addresses}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${advertised}${addresses}`,
    'listener.security.protocol.map': ['PLAINTEXT', 'SSL', 'SASL_SSL', 'SASL_PLAINTEXT']
      .map(name => `${name}:${name}`)
      .concat('CONTROLLER:PLAINTEXT')
      .join(','),
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
    ...extras.properties,
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

function isReady(port) {
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

async function start(wanted, kept, advertised, extras) {
  fetchJars()
  requireJava()
  const dir = kept ?? mkdtempSync(join(tmpdir(), 'kafka-'))
  mkdirSync(dir, { recursive: true })
  const [free, controllerPort] = await freePorts(2)
  const port = wanted || free
  const config = join(dir, 'server.properties')
  // the vote is stored with the controller's address: a directory that is used again needs the same address
  const fresh = !existsSync(config)
  if (fresh) writeFileSync(config, properties(dir, port, controllerPort, advertised || port, extras))
  else if (!readFileSync(config, 'utf8').includes(`PLAINTEXT://127.0.0.1:${port},`))
    fail(
      `The directory ${dir} belongs to a broker on another port. Pass the port of that broker, or pass another directory.`,
      64,
    )
  if (fresh) {
    const formatted = spawnSync(
      'java',
      java('kafka.tools.StorageTool', 'format', '-t', CLUSTER, '-c', config, ...(extras.format ?? [])),
    )
    if (formatted.status !== 0) fail(`Kafka could not format the directory ${dir}:\n${formatted.stderr}`)
  }
  const server = spawn('java', java('kafka.Kafka', config), { stdio: ['ignore', 'pipe', 'pipe'], cwd: dir })
  await supervise(server, {
    isReady: () => isReady(port),
    readyMs: READY_MS,
    pollMs: 100,
    readyLine: { brokers: `127.0.0.1:${port}`, pid: server.pid },
    cleanUp() {
      if (kept === undefined) rmSync(dir, { recursive: true, force: true })
    },
  })
}

const [command, port, dir, advertised, extras] = process.argv.slice(2)
if (command === 'fetch') fetchJars()
else if (command === 'start') {
  const more = extras === undefined ? {} : JSON.parse(readFileSync(extras, 'utf8'))
  await start(Number(port ?? 0), dir, Number(advertised ?? 0), more)
} else fail('the first argument must be "fetch" or "start"', 64)
