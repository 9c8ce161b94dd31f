/** Watches the objects below a path of the API server with an informer, and reopens it after errors. */
import {
  type KubeConfig,
  type KubernetesListObject,
  type KubernetesObject,
  makeInformer,
} from '@kubernetes/client-node'
import type { KubeObject, WatchedKind } from './api.ts'

/** A watch is silent while nothing changes, so only another request finds that its connection is half-open. */
const PROBE_MS = 2_000
const RETRY_MS = 500

export interface KubernetesWatchOptions {
  readonly config: KubeConfig
  readonly path: string
  readonly list: () => Promise<KubernetesListObject<KubernetesObject>>
  /** One request that responds within seconds. @throws Error when the API server does not */
  readonly probe: () => Promise<unknown>
  readonly onChange: () => void
  /** Called when the API server ends the watch or cannot be reached. */
  readonly onBroken: (error: unknown) => void
  /** Called when it responds again. */
  readonly onReopened: () => void
}

export interface KubernetesWatch extends WatchedKind {
  /** Reopens the watch once the API server responds: another connection to it was interrupted. */
  interrupt(error: unknown): void
}

export function watchObjects({
  config,
  path,
  list,
  probe,
  onChange,
  onBroken,
  onReopened,
}: KubernetesWatchOptions): KubernetesWatch {
  let closed = false
  let isBroken = false
  let timer: NodeJS.Timeout | undefined
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
    if (closed || isBroken) return
    isBroken = true
    onBroken(error)
    // its connection may never report an end
    void informer.stop()
  }
  const check = async (): Promise<void> => {
    try {
      await probe()
      if (isBroken && !closed) {
        isBroken = false
        open()
        onReopened()
      }
    } catch (error) {
      broken(error)
    }
    if (!closed) timer = setTimeout(() => void check(), isBroken ? RETRY_MS : PROBE_MS)
  }
  for (const event of ['add', 'update', 'delete'] as const) informer.on(event, onChange)
  informer.on('error', broken)
  open()
  timer = setTimeout(() => void check(), RETRY_MS)
  return {
    listed,
    list: () => informer.list() as unknown as readonly KubeObject[],
    interrupt: broken,
    async close() {
      closed = true
      clearTimeout(timer)
      resolveListed()
      await informer.stop()
    },
  }
}
