/** Normalize, match among 50 routes, take a token: in two calls of the kernel, beside the best plain JavaScript and find-my-way. */
import FindMyWay from 'find-my-way'
import { createKernel } from '../../src/data-plane/kernel/create.ts'
import type { Kernel } from '../../src/data-plane/kernel/kernel.ts'
import { createTwin } from '../../test/oracles/kernel/twin.ts'
import type { Suite } from '../suite.ts'
import { BestJsBuckets, BestJsRouter, normalize } from './best-js.ts'
import { BATCH, FreshPaths, requestsFor, restRoutes } from './requests.ts'

const NOW_MS = Date.now()
/** Never empty: every response is a row. */
const PLENTY = { tokens: 1_000_000_000, periodMs: 1, burst: 2_000_000_000 }

function taken(engine: Kernel, row: number): number {
  return row >= 0 && engine.takeTokens(0, 1, NOW_MS) < 0 ? -3 : row
}

export default {
  id: 'kernel/fused',
  title: 'Normalize, match among 50 routes and take a token, fresh path to row',
  reference: 'best-js',
  cases() {
    const routes = restRoutes(50)
    const requests = requestsFor(routes)
    const fresh = new FreshPaths(requests.map(({ path }) => path))
    const prepare = (): void => fresh.next()
    const check = (sum: number): void => {
      let wanted = 0
      for (let i = 0; i < BATCH; i++) wanted += requests[fresh.at + i]!.route
      if (sum !== wanted) throw new Error(`a wrong response: ${sum} instead of ${wanted}`)
    }
    const { kernel } = createKernel()
    const { kernel: twin } = createTwin()
    for (const engine of [kernel, twin]) {
      engine.loadRoutes(routes)
      engine.setBucketRate(0, PLENTY)
    }
    const router = new BestJsRouter(routes)
    const buckets = new BestJsBuckets(1)
    buckets.setRate(0, PLENTY.tokens, PLENTY.periodMs, PLENTY.burst)
    const findMyWay = FindMyWay()
    for (const [row, { method, pattern }] of routes.entries())
      findMyWay.on(method as 'GET', pattern.replaceAll(/\{(\w+)\}/g, ':$1'), () => {}, row)

    return [
      {
        id: '50/wasm',
        perRun: BATCH,
        prepare,
        run() {
          let sum = 0
          for (let i = 0; i < BATCH; i++)
            sum += taken(kernel, kernel.admit(fresh.batch[i]!, requests[fresh.at + i]!.method))
          check(sum)
        },
      },
      {
        id: '50/twin',
        perRun: BATCH,
        prepare,
        run() {
          let sum = 0
          for (let i = 0; i < BATCH; i++)
            sum += taken(twin, twin.admit(fresh.batch[i]!, requests[fresh.at + i]!.method))
          check(sum)
        },
      },
      {
        id: '50/best-js',
        perRun: BATCH,
        prepare,
        run() {
          let sum = 0
          for (let i = 0; i < BATCH; i++) {
            const { method } = requests[fresh.at + i]!
            let row = router.find(fresh.batch[i]!, method)
            if (row < 0) row = router.find(normalize(fresh.batch[i]!), method)
            if (row >= 0 && !buckets.take(0, NOW_MS)) row = -3
            sum += row
          }
          check(sum)
        },
      },
      {
        id: '50/regex-and-tree-js',
        perRun: BATCH,
        prepare,
        run() {
          let sum = 0
          for (let i = 0; i < BATCH; i++) {
            let row = router.find(normalize(fresh.batch[i]!), requests[fresh.at + i]!.method)
            if (row >= 0 && !buckets.take(0, NOW_MS)) row = -3
            sum += row
          }
          check(sum)
        },
      },
      {
        id: '50/find-my-way',
        perRun: BATCH,
        prepare,
        run() {
          let sum = 0
          for (let i = 0; i < BATCH; i++) {
            const found = findMyWay.find(
              requests[fresh.at + i]!.methodName as 'GET',
              normalize(fresh.batch[i]!),
            )
            let row: number = found === null ? -1 : found.store
            if (row >= 0 && !buckets.take(0, NOW_MS)) row = -3
            sum += row
          }
          check(sum)
        },
      },
    ]
  },
} satisfies Suite
