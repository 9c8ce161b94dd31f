/** Watches all objects below one path of the API server with an informer that is reopened after errors. It writes no object. */
import {
  type KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  makeInformer,
} from '@kubernetes/client-node'
import type { KubeObject, WatchedKind } from './api.ts'

const REOPEN_MS = 2_000

export interface KubernetesWatchOptions {
  readonly config: KubeConfig
  readonly path: string
  readonly list: () => Promise<KubernetesListObject<KubernetesObject>>
  readonly onChange: () => void
  /** Called each time the API server ends the watch or cannot be reached. */
  readonly onBroken: (error: unknown) => void
}

export function watchObjects({
  config,
  path,
  list,
  onChange,
  onBroken,
}: KubernetesWatchOptions): WatchedKind {
  let closed = false
  let reopen: NodeJS.Timeout | undefined
  let resolveListed: () => void = () => {}
  const listed = new Promise<void>(resolve => {
    resolveListed = resolve
  })
  const informer = makeInformer(config, path, async () => {
    const found = await list()
    // The informer stores the items after this function returns.
    setImmediate(resolveListed)
    return found
  })
  const open = (): void => void informer.start().catch(broken)
  const broken = (error: unknown): void => {
    if (closed) return
    onBroken(error)
    clearTimeout(reopen)
    reopen = setTimeout(open, REOPEN_MS)
  }
  for (const event of ['add', 'update', 'delete'] as const) informer.on(event, onChange)
  informer.on('error', broken)
  open()
  return {
    listed,
    list: () => informer.list() as unknown as readonly KubeObject[],
    async close() {
      closed = true
      clearTimeout(reopen)
      resolveListed()
      await informer.stop()
    },
  }
}
