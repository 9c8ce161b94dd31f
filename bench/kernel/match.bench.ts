/** Route match among 50, 5,000 and 20,000 routes, string to row and parameters. The kernel and its twin normalize as well; the others do not. */
import FindMyWay from 'find-my-way'
import { createKernel } from '../../src/data-plane/kernel/create.ts'
import type { Kernel } from '../../src/data-plane/kernel/kernel.ts'
import { createTwin } from '../../test/oracles/kernel/twin.ts'
import type { BenchCase, Suite } from '../suite.ts'
import { BestJsRouter } from './best-js.ts'
import { BATCH, FreshPaths, requestsFor, restRoutes } from './requests.ts'

/** One for all tables, as a thread has one: several would make its call sites megamorphic. */
const { kernel } = createKernel({ routeTableBytes: 32 << 20 })
const { kernel: twin } = createTwin()

function cases(count: number): BenchCase[] {
  const routes = restRoutes(count).map(({ method, pattern }) => ({ method, pattern }))
  const requests = requestsFor(routes)
  const fresh = new FreshPaths(requests.map(({ path }) => path))
  const prepare = (): void => fresh.next()
  const load = (engine: Kernel): void => {
    fresh.next()
    if (engine.table.routes.length !== count) engine.loadRoutes(routes)
  }
  const router = new BestJsRouter(routes)
  const findMyWay = FindMyWay()
  for (const [row, { method, pattern }] of routes.entries())
    findMyWay.on(method as 'GET', pattern.replaceAll(/\{(\w+)\}/g, ':$1'), () => {}, row)
  const check = (sum: number): void => {
    let wanted = 0
    for (let i = 0; i < BATCH; i++) wanted += requests[fresh.at + i]!.route
    if (sum !== wanted) throw new Error(`a wrong response: ${sum} instead of ${wanted}`)
  }
  return [
    {
      id: `${count}/wasm`,
      perRun: BATCH,
      prepare: () => load(kernel),
      run() {
        let sum = 0
        for (let i = 0; i < BATCH; i++) sum += kernel.admit(fresh.batch[i]!, requests[fresh.at + i]!.method)
        check(sum)
      },
    },
    {
      id: `${count}/twin`,
      perRun: BATCH,
      prepare: () => load(twin),
      run() {
        let sum = 0
        for (let i = 0; i < BATCH; i++) sum += twin.admit(fresh.batch[i]!, requests[fresh.at + i]!.method)
        check(sum)
      },
    },
    {
      id: `${count}/best-js`,
      perRun: BATCH,
      prepare,
      run() {
        let sum = 0
        for (let i = 0; i < BATCH; i++) sum += router.find(fresh.batch[i]!, requests[fresh.at + i]!.method)
        check(sum)
      },
    },
    {
      id: `${count}/find-my-way`,
      perRun: BATCH,
      prepare,
      run() {
        let sum = 0
        for (let i = 0; i < BATCH; i++)
          sum += findMyWay.find(requests[fresh.at + i]!.methodName as 'GET', fresh.batch[i]!)!.store
        check(sum)
      },
    },
  ]
}

export default {
  id: 'kernel/match',
  title: 'Route match, fresh path to row (wasm and twin: normalized first)',
  reference: 'find-my-way',
  cases: () => [50, 5000, 20_000].flatMap(cases),
} satisfies Suite
