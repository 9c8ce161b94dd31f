/** Finds a free port, and starts a proxy that prints nothing when it is ready. */
import { createServer } from 'node:net'
import { type Child, startChild } from './child.ts'

export interface ProxyServer extends Child {
  readonly port: number
}

export interface ProxyOptions {
  readonly name: string
  /** For a shell, which it replaces. */
  readonly command: string
  readonly port: number
  /** Is requested until there is a response. */
  readonly path: string
}

export async function startProxy({ name, command, port, path }: ProxyOptions): Promise<ProxyServer> {
  const child = await startChild('sh', ['-c', `echo ${port}; exec ${command}`], { side: 'server' })
  await reachable(`http://127.0.0.1:${port}${path}`, name)
  return { ...child, port }
}

export function freePort(): Promise<number> {
  return new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}

/** @throws Error after five seconds without a response */
async function reachable(url: string, name: string): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    try {
      await fetch(url)
      return
    } catch {
      await new Promise(resolve => setTimeout(resolve, 50))
    }
  }
  throw new Error(`${name} did not open its port`)
}
