/** A TCP proxy that breaks connections in every way of the matrix, also open ones, per direction and kind. It listens on loopback and checks nothing. */
import { connect, createServer, type Server, type Socket } from 'node:net'
import { freePort } from '../fixtures/free-ports.ts'

export type Direction = 'to-server' | 'to-client'

/**
 * `hold`: bytes wait and are relayed after the fault, as those of a stopped server. `lose`: bytes are discarded, and the connection never
 * ends by itself, as after a power failure of the other side. `garble`: other bytes arrive.
 */
export type Behavior =
  | { readonly kind: 'relay' | 'hold' | 'lose' | 'garble' }
  | { readonly kind: 'delay'; readonly ms: number }

export interface FaultProxy {
  readonly port: number
  /** Open connections to the server. */
  readonly connections: number
  /** Chunks that arrived in both directions so far; held ones count again when they are relayed. */
  readonly relayed: number
  /** For open and new connections. @param direction both when absent */
  set(behavior: Behavior, direction?: Direction): void
  /** Resets the open connections. */
  reset(): void
  /** Resets each connection as soon as its client has sent something, before the response. */
  resetInFlight(): void
  /** Resets the open connections and refuses new ones; after `only`, it resets new ones once they are selected. */
  refuse(): Promise<void>
  /** Only connections whose client sent this afterwards or before are faulty; undefined: all of them. Set it before the fault. */
  only(sent: RegExp | undefined): void
  /** Ends the fault. Connections that lost bytes stay silent: the server has dropped them. */
  restore(): Promise<void>
  close(): Promise<void>
}

interface Link {
  readonly client: Socket
  readonly server: Socket
  /** What the client has sent, its end, by which kinds of connections differ. */
  sent: string
  isSelected: boolean
  isDead: boolean
  readonly held: Record<Direction, Buffer[]>
  readonly queue: Record<Direction, Promise<void>>
}

const RELAY: Behavior = { kind: 'relay' }
const MAX_SENT_CHARACTERS = 4_096

/** @param target any URL of the server; only host and port count @param onPort of the proxy; a free one when absent */
export async function startFaultProxy(target: string, onPort?: number): Promise<FaultProxy> {
  const { hostname, port: targetPort } = new URL(target)
  const links = new Set<Link>()
  const behavior: Record<Direction, Behavior> = { 'to-server': RELAY, 'to-client': RELAY }
  let selected: RegExp | undefined
  let isResettingInFlight = false
  let isRefusing = false
  let relayed = 0
  let listener: Server | undefined

  const isFaulty = (link: Link): boolean => selected === undefined || link.isSelected

  function pass(link: Link, direction: Direction, bytes: Buffer): void {
    const to = direction === 'to-server' ? link.server : link.client
    if (link.isDead) return
    const now = isFaulty(link) ? behavior[direction] : RELAY
    relayed++
    if (now.kind === 'lose') link.isDead = true
    else if (now.kind === 'hold' || link.held[direction].length > 0) link.held[direction].push(bytes)
    else {
      const sent = now.kind === 'garble' ? garbled(bytes) : bytes
      const waitMs = now.kind === 'delay' ? now.ms : 0
      const waited = waitMs === 0 ? undefined : new Promise<void>(resolve => setTimeout(resolve, waitMs))
      // a timer each, in order: a shorter delay must not overtake a longer one
      link.queue[direction] = link.queue[direction].then(async () => {
        await waited
        if (!to.destroyed && !link.isDead) to.write(sent)
      })
    }
  }

  function onSent(link: Link, bytes: Buffer): void {
    link.sent = (link.sent + bytes.toString('latin1')).slice(-MAX_SENT_CHARACTERS)
    link.isSelected ||= selected?.test(link.sent) === true
    if (isResettingInFlight && isFaulty(link)) {
      // the server gets the request, and the client never gets its response
      link.server.write(bytes, () => setImmediate(() => resetLink(link)))
      link.isDead = true
      return
    }
    if (isRefusing && isFaulty(link)) return resetLink(link)
    pass(link, 'to-server', bytes)
  }

  function resetLink({ client, server }: Link): void {
    client.resetAndDestroy()
    server.destroy()
  }

  function accept(client: Socket): void {
    const server = connect(Number(targetPort), hostname)
    const link: Link = {
      client,
      server,
      sent: '',
      isSelected: false,
      isDead: false,
      held: { 'to-server': [], 'to-client': [] },
      queue: { 'to-server': Promise.resolve(), 'to-client': Promise.resolve() },
    }
    links.add(link)
    client.on('data', bytes => onSent(link, bytes))
    server.on('data', bytes => pass(link, 'to-client', bytes))
    for (const [one, other, direction] of [
      [client, server, 'to-server'],
      [server, client, 'to-client'],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => {
        // an end is not relayed by a side that is silent
        const isSilent =
          link.isDead || (isFaulty(link) && ['hold', 'lose'].includes(behavior[direction].kind))
        if (one === server && isSilent) return
        void link.queue[direction].then(() => {
          links.delete(link)
          other.destroy()
        })
      })
    }
  }

  function listen(port: number): Promise<Server> {
    const server = createServer(accept)
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', () => resolve(server))
    })
  }

  function reset(): void {
    for (const link of links) if (isFaulty(link)) resetLink(link)
  }

  async function stopListening(): Promise<void> {
    const closed = new Promise(resolve => (listener === undefined ? resolve(0) : listener.close(resolve)))
    listener = undefined
    for (const link of links) resetLink(link)
    await closed
  }

  const port = onPort ?? (await freePort())
  listener = await listen(port)
  return {
    port,
    get connections() {
      return links.size
    },
    get relayed() {
      return relayed
    },
    set(next, direction) {
      for (const each of direction === undefined ? (['to-server', 'to-client'] as const) : [direction])
        behavior[each] = next
    },
    reset,
    resetInFlight() {
      isResettingInFlight = true
    },
    async refuse() {
      isRefusing = true
      if (selected === undefined) await stopListening()
      else reset()
    },
    only(sent) {
      selected = sent
      for (const link of links) link.isSelected = sent?.test(link.sent) === true
    },
    async restore() {
      isResettingInFlight = false
      isRefusing = false
      const lost = behavior['to-server'].kind === 'lose' || behavior['to-client'].kind === 'lose'
      behavior['to-server'] = RELAY
      behavior['to-client'] = RELAY
      for (const link of links) {
        if (lost && isFaulty(link)) link.isDead = true
        if (link.isDead) link.server.destroy()
        for (const direction of ['to-server', 'to-client'] as const)
          for (const bytes of link.held[direction].splice(0)) pass(link, direction, bytes)
        if (link.server.destroyed && !link.isDead) link.client.destroy()
      }
      listener ??= await listen(port)
    },
    close: stopListening,
  }
}

/** As long as what was sent, and a valid message of no protocol. */
function garbled(bytes: Buffer): Buffer {
  return Buffer.from(bytes.map((byte, at) => (byte * 31 + at * 17 + 0x5b) & 0xff))
}
