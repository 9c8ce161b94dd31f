/** Loads the route table into the kernel, and matches requests to it there. */
import { METHOD_NOT_ALLOWED, NOT_FOUND } from '../kernel/abi.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { methodNames, methodNumber } from '../kernel/method.ts'
import type { RouteMatcher, RouteRow } from './router.ts'

export function kernelRoutes(kernel: Kernel): (rows: readonly RouteRow[]) => RouteMatcher {
  return rows => {
    kernel.loadRoutes(rows)
    return {
      match(method, path) {
        const route = kernel.admit(path, methodNumber(method))
        if (route >= 0) return route
        if (route === NOT_FOUND) return 'not_found'
        return route === METHOD_NOT_ALLOWED ? 'method_not_allowed' : 'bad_path'
      },
      allowed: () => methodNames(kernel.allowedMethods),
      param: index => kernel.param(index),
    }
  }
}
