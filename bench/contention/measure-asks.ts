/** Measures the CPU time that a request over a port takes in the main thread and in the thread that asks, with the real owners. It simulates nothing. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { MessageChannel } from 'node:worker_threads'
import { StreamSlotOwner } from '../../src/app/main/workers/stream-slots.ts'
import { StreamLimiter } from '../../src/data-plane/http/mcp/stream-limiter.ts'
import { fileKeyRing } from '../../src/data-plane/sessions/key-ring.ts'
import { MemorySessionStore } from '../../src/data-plane/sessions/memory/store.ts'
import { SessionThreadServer } from '../../src/data-plane/sessions/threads/thread-server.ts'
import { PortLine } from '../../src/shared/threads/port-line.ts'
import { startThread } from '../../src/shared/threads/start-thread.ts'
import type { AskerData } from './asker.ts'

export interface AskFigures {
  readonly serviceUs: number
  readonly askUs: number
}

const ASKS = 40_000
const WARM_UP = 20_000
const PENDING = 64
const SESSIONS = 1_000
const LIMITS = { enabled: true, maxPerIp: 1e6, maxPerTenant: 1e6, maxTotal: 1e6, newPerMinutePerIp: 1e6 }

export async function measureAsks(what: AskerData['what']): Promise<AskFigures> {
  const dir = mkdtempSync(join(tmpdir(), 'contention-'))
  const keys = fileKeyRing(join(dir, 'keys.json'), Date.now, () => {})
  const store = new MemorySessionStore({ keys, ttlMs: 3_600_000, maxSessions: 1e6, now: Date.now })
  const facts = {
    protocolVersion: '2025-06-18',
    origin: 'initialize',
    elicitation: false,
    owner: 'o',
    createdAtMs: Date.now(),
  } as const
  const sessions = Array.from({ length: SESSIONS }, () => store.create(facts).id)
  const round = async (asks: number): Promise<AskFigures> => {
    const { port1, port2 } = new MessageChannel()
    const line = new PortLine(port1)
    new SessionThreadServer(store).serve(line)
    new StreamSlotOwner(new StreamLimiter(LIMITS)).serve(line)
    const workerData: AskerData = { port: port2, what, sessions, asks, pending: PENDING }
    const worker = startThread(new URL('./asker.ts', import.meta.url), { workerData, transferList: [port2] })
    // what starting it takes is not of the requests
    await once(worker, 'online')
    const [main, all] = [mainThreadUs(), processUs()]
    await once(worker, 'exit')
    const mainUs = mainThreadUs() - main
    return { serviceUs: mainUs, askUs: processUs() - all - mainUs }
  }
  try {
    await round(WARM_UP)
    // the difference of two lengths is without the start and the end of the thread
    const [short, long] = [await round(WARM_UP), await round(WARM_UP + ASKS)]
    return {
      serviceUs: (long.serviceUs - short.serviceUs) / ASKS,
      askUs: Math.max(0, long.askUs - short.askUs) / ASKS,
    }
  } finally {
    store.close()
    rmSync(dir, { recursive: true, force: true })
  }
}

function processUs(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

/** Of Linux: nanoseconds on a processor are the first number. */
function mainThreadUs(): number {
  return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1000
}
