/** Both engines, set up alike, for tests that hold one against the other. */
import { createKernel } from '../../../../src/data-plane/kernel/create.ts'
import type { Kernel, RouteDefinition } from '../../../../src/data-plane/kernel/kernel.ts'
import { createTwin, TwinKernel } from '../../../oracles/kernel/twin.ts'

/** For test titles. */
export function engineOf(kernel: Kernel): 'wasm' | 'twin' {
  return kernel instanceof TwinKernel ? 'twin' : 'wasm'
}

export const NOW_MS = Date.UTC(2026, 10, 21, 12)

/** The kernel and its twin, each on a separate memory. */
export function bothEngines(
  options: { routes?: readonly RouteDefinition[]; buckets?: number } = {},
): [Kernel, Kernel] {
  const { routes = [], buckets = 16 } = options
  const { kernel } = createKernel({ buckets })
  const { kernel: twin } = createTwin({ buckets })
  kernel.loadRoutes(routes)
  twin.loadRoutes(routes)
  return [kernel, twin]
}

/** Everything that a call of `admit` or `match` left behind. */
export function outcome(kernel: Kernel, route: number) {
  return {
    route,
    params: Array.from({ length: kernel.paramCount }, (_, i) => kernel.param(i)),
    allowed: route === -2 ? kernel.allowedMethods : undefined,
  }
}

export function normalized(kernel: Kernel, path: string) {
  const status = kernel.normalize(path)
  return status === 0
    ? { status, path: kernel.normalizedPath(), again: kernel.normalizedPath(path) }
    : { status, refusedAt: kernel.refusedAt }
}
