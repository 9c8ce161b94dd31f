/** Starts the development provider in a thread, and connects its log and clock. `thread.ts` is the code of the thread. */
import { MessageChannel } from 'node:worker_threads'
import { PortLine } from '../../base/threads/port-line.ts'
import { startThread } from '../../base/threads/start-thread.ts'
import type { Log } from '../../telemetry/log.ts'
import type { DevProvider } from './dev-provider.ts'
import type { ProviderLogLevel, ProviderReady, ProviderThreadData } from './thread-data.ts'

export interface ThreadOptions extends Omit<ProviderThreadData, 'clockOffsetMs' | 'levels' | 'line'> {
  readonly log: Log
  readonly clock: { now(): number; onAdvance(listener: (ms: number) => void): void }
}

const LEVELS: readonly ProviderLogLevel[] = ['debug', 'info', 'warn', 'error']

/**
 * In a thread, because its library uses `AsyncLocalStorage`, which turns async hooks on for every asynchronous operation of a thread, also for
 * calls; the threads that serve calls must not load it.
 * @throws Error naming the port and the setting when the port is taken; an error of the file system keeps its code.
 */
export async function startProviderThread({ log, clock, ...options }: ThreadOptions): Promise<DevProvider> {
  const { port1, port2 } = new MessageChannel()
  const workerData: ProviderThreadData = {
    ...options,
    clockOffsetMs: clock.now() - Date.now(),
    levels: LEVELS.filter(level => log.isLevelEnabled(level)),
    line: port2,
  }
  // the provider needs none of the settings and secrets in the environment of the process
  const worker = startThread(new URL('./thread.ts', import.meta.url), {
    workerData,
    transferList: [port2],
    env: {},
  })
  worker.unref()
  worker.on('error', error =>
    log.error({ err: error }, 'the embedded identity provider has failed; restart this process'),
  )
  const line = new PortLine(port1)
  const { issuer, port } = await new Promise<ProviderReady>((resolve, reject) => {
    port1.ref()
    line.serve({
      log: (level: ProviderLogLevel, fields: object, message: string) => log[level](fields, message),
      ready: resolve,
      failed: (reason: string, code?: string) => reject(Object.assign(new Error(reason), { code })),
    })
    line.onClose(() =>
      reject(new Error('the thread of the embedded identity provider ended while it started')),
    )
  })
  port1.unref()
  clock.onAdvance(ms => line.notify('advance', ms))
  return {
    issuer,
    port,
    close: async () => {
      if (!line.closed) await line.ask('close')
      await worker.terminate()
    },
  }
}
