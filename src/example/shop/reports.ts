/** The sales report, which is streamed line by line, and the operation that fails on purpose. Neither changes the shop. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ShopProblem } from './problem.ts'
import type { Handlers } from './request.ts'
import type { Order, ShopState } from './state.ts'

type GroupBy = 'category' | 'customer' | 'month'

/** Number of groups with a line of progress; the others are in the report only, so that it ends in time. */
const MAX_STEPS = 20

export function reportHandlers(state: ShopState): Handlers {
  return {
    runSalesReport({ query, signal }) {
      const { groupBy = 'category', stepMs = 300 } = query as { groupBy?: GroupBy; stepMs?: number }
      return { status: 200, lines: salesReport(state, groupBy, stepMs, signal) }
    },
    failOnPurpose() {
      throw new ShopProblem(
        500,
        'on-purpose',
        'The request failed on purpose.',
        'This operation always fails.',
      )
    },
  }
}

interface Group {
  readonly name: string
  pieces: number
  cents: number
}

/** Yields a line for each of the first groups and, last, the report itself. Throws an AbortError after `signal`. */
async function* salesReport(
  state: ShopState,
  groupBy: GroupBy,
  stepMs: number,
  signal: AbortSignal,
): AsyncGenerator<object> {
  const groups = addUp(state, groupBy)
  const listed = groups.slice(0, MAX_STEPS)
  const total = listed.length + 1
  for (const [at, group] of listed.entries()) {
    await sleep(stepMs, undefined, { signal })
    yield { step: at + 1, total, message: `Counted ${group.name}: ${group.pieces} pieces` }
  }
  await sleep(stepMs, undefined, { signal })
  const totalCents = groups.reduce((sum, group) => sum + group.cents, 0)
  yield {
    step: total,
    total,
    message: `Done: ${groups.length} groups`,
    report: { groupBy, currency: 'EUR', totalCents, groups },
  }
}

function addUp(state: ShopState, groupBy: GroupBy): Group[] {
  const groups = new Map<string, Group>()
  for (const order of state.orders.all()) {
    if (order.status === 'cancelled') continue
    for (const line of order.lines) {
      const name = nameOf(state, groupBy, order, line.productId)
      const group = groups.get(name) ?? { name, pieces: 0, cents: 0 }
      group.pieces += line.quantity
      group.cents += line.totalCents
      groups.set(name, group)
    }
  }
  return [...groups.values()].sort((a, b) => b.cents - a.cents)
}

function nameOf(state: ShopState, groupBy: GroupBy, order: Order, productId: string): string {
  if (groupBy === 'month') return order.createdAt.slice(0, 7)
  if (groupBy === 'customer') return state.customers.get(order.customerId).name
  if (!state.products.has(productId)) return 'no longer on sale'
  return state.categories.get(state.products.get(productId).categoryId).name
}
