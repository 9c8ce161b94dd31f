/** The stall search: generated documents, arguments and responses against a real gateway, and the longest turn of a serving thread. */
import { type Random, seeded } from '../chaos/random.ts'
import { anOperation, type InlineToolSet, type Operation, toolSetOf } from './documents.ts'
import { StallGateway } from './gateway.ts'
import { aReply, hostileValue, pick, valueFor } from './values.ts'

export const MAX_TURN_MS = 20
const MAX_BODY = 1_048_000
const RESPONSES_PER_ROUND = 4
const OPERATIONS_PER_ROUND = 8
/** Above the limit of the compiler for one schema; all together are below that for one document. */
const MAX_OPERATION_CHARS = 500_000
const CALLS_PER_OPERATION = 4
/** A finding must show again: a garbage collection in one of the runs is not one. */
const REPEATS = 3

export interface Finding {
  readonly seed: number
  readonly what: string
  /** CPU milliseconds of the longest turn: in the first run, and the least of all runs. */
  readonly firstMs: number
  readonly leastMs: number
  readonly status: number
}

export interface SearchResult {
  readonly seed: number
  readonly rounds: number
  readonly calls: number
  readonly statuses: { readonly [status: string]: number }
  readonly longest: Finding | undefined
  readonly findings: readonly Finding[]
}

export interface SearchOptions {
  readonly seed: number
  /** Ends with the round in which this has passed. */
  readonly forMs: number
  readonly maxRounds: number
  /** Tools of one large installation, and a third of it with long descriptions; 0: none. */
  readonly largeInstall: number
  /** Serving threads. With one, the main thread serves, and takes the changes as well. */
  readonly workers: number
  readonly onProgress?: (line: string) => void
}

/** The ways of a result to its caller: as JSON, as event, as event that is kept for resumption, in a batch. */
const WAYS = ['rest', 'rpc', 'stream', 'session', 'batch'] as const
type Way = (typeof WAYS)[number]

interface Many {
  readonly count: number
  /** Of each tool. */
  readonly descriptionLength: number
}

/** Of the descriptions of a document of 20 MB. */
const LONG = 3_000

function manyTools({ count, descriptionLength }: Many, run: number, backendUrl: string): InlineToolSet {
  const a = { type: 'string', description: 'a word '.repeat(descriptionLength / 7) }
  const schema = { type: 'object', properties: { a, [`b${run}`]: { type: 'integer' } } }
  const operations = Array.from({ length: count }, (_, at) => ({
    name: `t_${at}`,
    path: `/t/${at}`,
    schema,
    mediaType: 'application/json',
    parameters: [],
  }))
  return toolSetOf(seeded(run), operations, backendUrl)
}

function plain(seed: number): Operation {
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  return {
    name: `plain_${seed}`,
    path: `/plain_${seed}`,
    schema,
    mediaType: 'application/json',
    parameters: [],
  }
}

interface Case {
  readonly what: string
  send(): Promise<{ readonly status: number; readonly text: string }>
}

/** Round n of seed s is round 0 of seed s + n. Needs a build. */
export async function searchStalls(options: SearchOptions): Promise<SearchResult> {
  const gateway = await StallGateway.start(options.workers)
  try {
    return await new Search(gateway, options).run()
  } finally {
    await gateway.stop()
  }
}

class Search {
  readonly #gateway: StallGateway
  readonly #options: SearchOptions
  readonly #findings: Finding[] = []
  readonly #statuses: { [status: string]: number } = {}
  #longest: Finding | undefined
  #calls = 0

  constructor(gateway: StallGateway, options: SearchOptions) {
    this.#gateway = gateway
    this.#options = options
  }

  async run(): Promise<SearchResult> {
    const { seed, forMs, maxRounds, largeInstall } = this.#options
    await this.#warmUp()
    const until = Date.now() + forMs
    let rounds = 0
    for (; rounds < maxRounds && (rounds === 0 || Date.now() < until); rounds++)
      await this.#round(seed + rounds)
    if (largeInstall > 0) {
      await this.#installMany({ count: largeInstall, descriptionLength: 0 })
      await this.#installMany({ count: Math.ceil(largeInstall / 3), descriptionLength: LONG })
    }
    return {
      seed,
      rounds,
      calls: this.#calls,
      statuses: this.#statuses,
      longest: this.#longest,
      findings: this.#findings,
    }
  }

  /** Code that has never run is slow, whatever the input. */
  async #warmUp(): Promise<void> {
    const random = seeded(0)
    const schema = { type: 'object', properties: { a: {}, b: { type: 'string' } } }
    const operation = { name: 'warm', path: '/warm', schema, mediaType: 'application/json', parameters: [] }
    await this.#gateway.install(toolSetOf(random, [operation], this.#gateway.backendUrl))
    await this.#gateway.login()
    for (let at = 0; at < 60; at++) {
      const text = JSON.stringify({ name: 'warm', arguments: { a: hostileValue(random, at * 500), b: 'x' } })
      await this.#gateway.post('/mcp/tools/call', text, { 'x-token-optimization': 'aggressive' })
    }
    await this.#gateway.longestTurn()
  }

  async #round(seed: number): Promise<void> {
    const random = seeded(seed)
    const operations = Array.from({ length: OPERATIONS_PER_ROUND }, (_, at) =>
      anOperation(random, `op_${seed}_${at}`),
    )
    for (const [at, { schema, parameters }] of operations.entries())
      if (JSON.stringify([schema, parameters]).length > MAX_OPERATION_CHARS) operations[at] = plain(at)
    // schemas may be beyond what the compiler accepts; this one never is
    operations.push(plain(seed))
    await this.#gateway.login()
    const installed = toolSetOf(random, operations, this.#gateway.backendUrl)
    const firstMs = await this.#gateway.install(installed)
    let leastMs = firstMs
    // by other names, since what has not changed is not compiled again
    for (let at = 0; at < REPEATS && leastMs > MAX_TURN_MS; at++)
      leastMs = Math.min(leastMs, await this.#gateway.install(this.#renamed(seed, operations, `i${at}`)))
    if (firstMs > MAX_TURN_MS) await this.#gateway.install(installed)
    this.#judge({ seed, what: 'install', firstMs, leastMs, status: 0 })
    for (const operation of operations)
      for (let at = 0; at < CALLS_PER_OPERATION; at++) {
        const call = this.#callOf(random, operation)
        const tried = await this.#try(seed, call(operation.name))
        // what is made for the first call of a tool shows once: other tools of the same form show it again
        if (at === 0 && tried.firstMs > MAX_TURN_MS && tried.leastMs <= MAX_TURN_MS) {
          await this.#tryFirstCalls(seed, operation, call)
          await this.#gateway.install(installed)
        }
      }
    for (let at = 0; at < RESPONSES_PER_ROUND; at++)
      await this.#try(seed, this.#responseCase(random, operations.at(-1)!))
    await this.#try(seed, this.#rawCase(random))
    await this.#try(seed, { what: 'list', send: () => this.#gateway.post('/mcp/v1/tools', '{}') })
    this.#options.onProgress?.(
      `round ${seed}: ${this.#calls} calls, longest turn ${this.#longest?.leastMs.toFixed(1)} ms (${this.#longest?.what})`,
    )
  }

  #renamed(seed: number, operations: readonly Operation[], suffix: string): InlineToolSet {
    const renamed = operations.map(operation => {
      const name = `${operation.name}_${suffix}`
      return { ...operation, name, path: `/${name}` }
    })
    return toolSetOf(seeded(seed), renamed, this.#gateway.backendUrl)
  }

  async #tryFirstCalls(seed: number, operation: Operation, call: (name: string) => Case): Promise<void> {
    let least = { leastMs: Number.POSITIVE_INFINITY, what: '', status: 0 }
    let firstMs = 0
    for (let at = 0; at < REPEATS && least.leastMs > MAX_TURN_MS; at++) {
      // the second one is served in any case
      await this.#gateway.install(this.#renamed(seed, [operation, plain(seed)], String(at)))
      const { what, send } = call(`${operation.name}_${at}`)
      const { status } = await send()
      const ms = await this.#gateway.longestTurn()
      if (at === 0) firstMs = ms
      if (ms < least.leastMs) least = { leastMs: ms, what, status }
    }
    this.#judge({ ...least, seed, what: `first call: ${least.what}`, firstMs })
  }

  /** @returns the same call of the operation by any name */
  #callOf(random: Random, operation: Operation): (name: string) => Case {
    const size = [100, 2_000, 60_000, 250_000, MAX_BODY][random.below(5)]!
    const args = valueFor(random, operation.schema, size * 0.8)
    const query = operation.parameters.map((one, at) => [
      `q${at}`,
      valueFor(random, one.schema as never, Math.min(size, 5_000)),
    ])
    const text = JSON.stringify({ ...(args as object), ...Object.fromEntries(query) })
    const over = text.length > MAX_BODY ? '{}' : text
    const rpc = random.below(2) === 0
    return name => {
      const body = rpc
        ? `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${over}}}`
        : `{"name":"${name}","arguments":${over}}`
      return {
        what: `${rpc ? 'rpc' : 'rest'} ${name} with ${over.length} characters`,
        send: () =>
          this.#gateway.post(
            rpc ? '/mcp' : '/mcp/tools/call',
            body,
            rpc ? { 'mcp-protocol-version': '2025-06-18' } : {},
          ),
      }
    }
  }

  /** A large response of the backend, on one of the ways that a result takes to the caller. */
  #responseCase(random: Random, { name }: Operation): Case {
    const reply = aReply(random)
    const way = pick(random, WAYS)
    const level = pick(random, ['none', 'none', 'moderate', 'aggressive'])
    const { contentType, chunkBytes = 0 } = reply
    return {
      what: `a response of ${reply.body.length} bytes, ${contentType}, in chunks of ${chunkBytes}, optimization ${level}, as ${way}`,
      send: async () => {
        this.#gateway.reply = reply
        const sent = await this.#callAs(way, name, { 'x-token-optimization': level })
        this.#gateway.reply = { body: '{"ok":true}', contentType: 'application/json' }
        return sent
      },
    }
  }

  async #callAs(way: Way, name: string, headers: Record<string, string>) {
    if (way === 'rest')
      return this.#gateway.post('/mcp/tools/call', `{"name":"${name}","arguments":{}}`, headers)
    const call = (id: number) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name, arguments: {}, _meta: { progressToken: id } },
    })
    if (way === 'batch') {
      const body = JSON.stringify(Array.from({ length: 6 }, (_, at) => call(at)))
      return this.#gateway.post('/mcp', body, { ...headers, 'mcp-protocol-version': '2025-03-26' })
    }
    const version = way === 'session' ? '2025-11-25' : '2025-06-18'
    const session: Record<string, string> =
      way === 'session' ? { 'mcp-session-id': await this.#gateway.openSession(version) } : {}
    return this.#gateway.post('/mcp', JSON.stringify(call(1)), {
      ...headers,
      ...session,
      'mcp-protocol-version': version,
      ...(way === 'rpc' ? { accept: 'application/json' } : {}),
    })
  }

  /** A body that is JSON, or nearly. */
  #rawCase(random: Random): Case {
    const deep = pick(random, ['[', '{"a":', '[[],', '[{"a":0},']).repeat(MAX_BODY / 10)
    const made = random.below(4) === 0 ? deep : JSON.stringify(hostileValue(random, MAX_BODY))
    const text = made.slice(0, MAX_BODY)
    const cut = random.below(2) === 0 ? text : text.slice(0, random.below(text.length))
    const path = random.below(2) === 0 ? '/mcp' : '/mcp/tools/call'
    return {
      what: `${path} with a body of ${cut.length} characters`,
      send: () => this.#gateway.post(path, cut),
    }
  }

  async #try(seed: number, { what, send }: Case): Promise<{ firstMs: number; leastMs: number }> {
    const { status, text } = await send()
    if (this.#gateway.exited) throw new Error(`the gateway ended at: ${what} (seed ${seed})`)
    this.#calls++
    this.#statuses[status] = (this.#statuses[status] ?? 0) + 1
    const firstMs = await this.#gateway.longestTurn()
    let leastMs = firstMs
    for (let at = 0; at < REPEATS && leastMs > MAX_TURN_MS; at++) {
      await send()
      leastMs = Math.min(leastMs, await this.#gateway.longestTurn())
    }
    this.#judge({ seed, what: `${what}: ${text.slice(0, 100)}`, firstMs, leastMs, status })
    return { firstMs, leastMs }
  }

  async #installMany(many: Many): Promise<void> {
    const tools = `${many.count} tools with descriptions of ${many.descriptionLength} characters`
    const least = new Map<string, { firstMs: number; leastMs: number; status: number }>()
    // a snapshot is listed for the first time once; a garbage collection in one of the runs is not a finding
    for (let run = 0; run < REPEATS; run++) {
      await this.#gateway.login()
      const ms = await this.#gateway.install(manyTools(many, run, this.#gateway.backendUrl))
      const measured = [{ what: `install of ${tools}`, ms, status: 0 }]
      for (const version of ['rest', '2025-06-18', '2026-07-28']) {
        const { status } = await this.#list(version)
        measured.push({
          what: `list of ${tools}, ${version}`,
          ms: await this.#gateway.longestTurn(),
          status,
        })
      }
      for (const { what, ms, status } of measured) {
        const before = least.get(what) ?? { firstMs: ms, leastMs: ms, status }
        least.set(what, { ...before, leastMs: Math.min(before.leastMs, ms) })
      }
      if ([...least.values()].every(({ leastMs }) => leastMs <= MAX_TURN_MS)) break
    }
    for (const [what, times] of least) this.#judge({ seed: 0, what, ...times })
  }

  #list(version: string) {
    if (version === 'rest') return this.#gateway.post('/mcp/v1/tools', '{}')
    const meta = {
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const body = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/list',
      params: version < '2026' ? {} : { _meta: meta },
    }
    return this.#gateway.post('/mcp', JSON.stringify(body), {
      'mcp-protocol-version': version,
      'mcp-method': 'tools/list',
    })
  }

  #judge(finding: Finding): void {
    if (finding.leastMs > (this.#longest?.leastMs ?? -1)) this.#longest = finding
    if (finding.leastMs <= MAX_TURN_MS) return
    this.#findings.push(finding)
    this.#options.onProgress?.(
      `FOUND ${finding.leastMs.toFixed(1)} ms (${finding.firstMs.toFixed(1)} at first), status ${finding.status}, seed ${finding.seed}: ${finding.what}`,
    )
  }
}
