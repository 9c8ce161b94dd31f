/** What the runner needs of a dependency: how to break it, the process under test, and how to see its state. */
import type { ServeProcess } from '../fixtures/planes.ts'
import type { FaultProxy } from './fault-proxy.ts'
import type { Fault, Row } from './matrix.ts'

/** The response to a call; status 0 when there was none. */
export interface Called {
  readonly status: number
  readonly retryAfterSecs: number | undefined
  readonly text: string
  readonly tookMs: number
}

export interface Seen {
  /** Status of `/ready`; 0 without a response. */
  readonly ready: number
  /** `/mcp/health` of a gateway, or `/ready` of a control plane, reports a fault. */
  readonly isDegraded: boolean
  /** The metric of the dependency reports a fault. */
  readonly isCounted: boolean
  /** For the message of a failed expectation. */
  readonly text: string
}

export interface Breakable {
  /** Resolves when the fault is in effect; it lasts until `restore`, except `reset while idle`, which is an instant. */
  apply(fault: Fault): Promise<void>
  restore(): Promise<void>
}

export interface World {
  readonly subject: ServeProcess
  readonly dependency: Breakable
  /** A call that involves the dependency, as one of many. Never rejects. */
  call(): Promise<Called>
  /** Whether that is the response of a dependency that works. */
  isFine(called: Called): boolean
  /** A call that is still in flight when the process is asked to stop; absent: `call`. */
  longCall?(): Promise<Called>
  /** How many of them are or were in flight: a connection that has not carried its request yet is closed as an idle one. */
  longCalls?(): number
  see(): Promise<Seen>
  /** Begins a row; counts what is acknowledged from here on. */
  begin(row: Row): Promise<void>
  /** For the moments `transaction` and `subscribing`: resolves when that is in progress, to a function that lets it continue. */
  enter?(row: Row): Promise<() => Promise<void>>
  /** @throws when something that was acknowledged since `begin` is lost, or does not arrive within some seconds */
  verify(row: Row): Promise<void>
  /** Longest time that a call may take while the fault lasts. */
  readonly maxCallMs: number
  close(): Promise<void>
}

const SLOW_MS = 200

/** Breaks the connections through a proxy, or those that its `only` selects. */
export function breakProxy(proxy: FaultProxy): Breakable {
  return {
    async apply(fault) {
      switch (fault) {
        case 'refuse':
        case 'back after 1 s':
        case 'back after 60 s':
          return proxy.refuse()
        case 'reset while idle':
          return proxy.reset()
        case 'reset in flight':
          return proxy.resetInFlight()
        case 'hang':
          return proxy.set({ kind: 'hold' })
        case 'slow':
          return proxy.set({ kind: 'delay', ms: SLOW_MS }, 'to-client')
        case 'half-open':
          return proxy.set({ kind: 'lose' })
        case 'garbage':
          return proxy.set({ kind: 'garble' }, 'to-client')
      }
    },
    restore: () => proxy.restore(),
  }
}
