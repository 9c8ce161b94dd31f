/** The entry point of the thread that runs the development provider. */
import { workerData } from 'node:worker_threads'
import { PortLine } from '../../base/threads/port-line.ts'
import { allowHosts } from '../../net/server/allowed-hosts.ts'
import type { Log } from '../../telemetry/log.ts'
import { startDevProvider } from './dev-provider.ts'
import type { ProviderLogLevel, ProviderReady, ProviderThreadData } from './thread-data.ts'

const data = workerData as ProviderThreadData
const line = new PortLine(data.line)
// the thread lives as long as its port
data.line.ref()
await serve()

async function serve(): Promise<void> {
  let { clockOffsetMs } = data
  try {
    const { issuer, port, close } = await startDevProvider({
      host: data.host,
      port: data.port,
      dataDir: data.dataDir,
      isServed: allowHosts(data.servedNames),
      origins: data.origins,
      log: logOfProcess(),
      now: () => Date.now() + clockOffsetMs,
    })
    line.serve({
      advance: (ms: number) => {
        clockOffsetMs += ms
      },
      close,
    })
    line.notify('ready', { issuer, port } satisfies ProviderReady)
  } catch (error) {
    // a clone of an error has no code, by which the cause of a failed start is named
    const { message, code } = error as NodeJS.ErrnoException
    line.notify('failed', message, code)
    line.close()
  }
}

/** Lines are written by the main thread, which removes secrets from them. */
function logOfProcess(): Log {
  const levels = new Set(data.levels)
  const write =
    (level: ProviderLogLevel) =>
    (fields: object, message: string): void => {
      if (levels.has(level)) line.notify('log', level, fields, message)
    }
  return {
    isLevelEnabled: level => levels.has(level),
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
  }
}
