/** A Kafka for one suite, started by scripts/kafka.mjs, and its topics as an independent consumer (kcat) reads them. No assertions. */
import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { servicesRequired } from '../../fixtures/redis-server.ts'

export const KAFKA_HINT = 'bring it with `bash scripts/services.sh kafka kcat`'

/** Whether the jars have been brought, and Java and kcat are there; always when the services are required. */
export function hasKafka(): boolean {
  if (servicesRequired()) return true
  const there = (command: string, option: string) => spawnSync(command, [option]).status === 0
  return (
    toolNames().some(name => name.startsWith('kafka-')) && there('java', '-version') && there('kcat', '-V')
  )
}

function toolNames(): string[] {
  try {
    return readdirSync('.tools')
  } catch {
    return []
  }
}

/** Beside the plain listener. */
export interface KafkaExtras {
  /** Port by security protocol: `SSL`, `SASL_SSL`. */
  readonly listeners: Readonly<Record<string, number>>
  readonly properties: Readonly<Record<string, string>>
  /** Options of the formatting tool. */
  readonly format?: readonly string[]
}

export interface TopicMessage {
  readonly key: string
  readonly value: Buffer
}

/** A broker that can be killed and comes back on the same port with the same data. */
export class KafkaServer {
  readonly #dir = mkdtempSync(join(tmpdir(), 'kafka-'))
  readonly #advertisedPort: number
  readonly #extras: string[] = []
  #script: ChildProcess | undefined
  #brokerPid = 0
  brokers = ''

  /** @param advertisedPort of a proxy in front, to which clients are sent */
  static async start(advertisedPort = 0, extras?: KafkaExtras): Promise<KafkaServer> {
    const server = new KafkaServer(advertisedPort, extras)
    await server.start()
    return server
  }

  private constructor(advertisedPort: number, extras: KafkaExtras | undefined) {
    this.#advertisedPort = advertisedPort
    if (extras === undefined) return
    this.#extras.push(join(this.#dir, 'extras.json'))
    writeFileSync(this.#extras[0]!, JSON.stringify(extras))
  }

  async start(): Promise<void> {
    const port = this.brokers === '' ? '0' : this.brokers.split(':')[1]!
    const options = [port, join(this.#dir, 'data'), String(this.#advertisedPort), ...this.#extras]
    const script = spawn(process.execPath, ['scripts/kafka.mjs', 'start', ...options], {
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    this.#script = script
    let complaints = ''
    script.stderr.on('data', chunk => {
      complaints = (complaints + chunk).slice(-5000)
    })
    for await (const line of createInterface({ input: script.stdout })) {
      const ready = JSON.parse(line) as { brokers: string; pid: number }
      this.brokers = ready.brokers
      this.#brokerPid = ready.pid
      return
    }
    throw new Error(`Kafka did not start: ${complaints}`)
  }

  /** `kill -9` of the broker. */
  async kill(): Promise<void> {
    const gone = once(this.#script!, 'exit')
    process.kill(this.#brokerPid, 'SIGKILL')
    await gone
    this.#script = undefined
  }

  async stop(): Promise<void> {
    if (this.#script !== undefined && this.#script.exitCode === null) {
      const gone = once(this.#script, 'exit')
      this.#script.kill('SIGTERM')
      await gone
    }
    rmSync(this.#dir, { recursive: true, force: true })
  }

  /** Everything in a topic, as kcat reads it. */
  async read(topic: string): Promise<TopicMessage[]> {
    // lengths in front: keys and values are bytes
    const form = '%K %k%S %s'
    const out = await new Promise<Buffer>((resolve, reject) => {
      execFile(
        'kcat',
        ['-b', this.brokers, '-C', '-t', topic, '-o', 'beginning', '-e', '-q', '-f', form],
        { encoding: 'buffer', maxBuffer: 2 ** 30 },
        (error, stdout, stderr) => (error === null ? resolve(stdout) : reject(new Error(stderr.toString()))),
      )
    })
    const messages: TopicMessage[] = []
    for (let at = 0; at < out.length; ) {
      const [key, keyEnd] = sized(out, at)
      const [value, valueEnd] = sized(out, keyEnd)
      messages.push({ key: key.toString(), value })
      at = valueEnd
    }
    return messages
  }
}

/** `<length> <bytes>` at a position: the bytes, and the position after them. */
function sized(out: Buffer, at: number): [Buffer, number] {
  const space = out.indexOf(0x20, at)
  const start = space + 1
  const end = start + Math.max(0, Number(out.toString('latin1', at, space)))
  return [out.subarray(start, end), end]
}
