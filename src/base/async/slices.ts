/** Runs long work in slices or without interruption, and lets other work of the event loop run in between. */
import type { MaybePromise } from '../and-then.ts'

/** A call needs three turns of the event loop or more, each of which may contain a slice: a long one delays all calls. */
const SLICE_MS = 1
/** The clock is read once for so many items. */
const ITEMS_PER_LOOK = 4

/**
 * Calls `visit` with every item.
 * @param visit the next item waits for its Promise, if it returns one
 */
export async function inSlices<T>(
  items: Iterable<T>,
  visit: (item: T) => void | Promise<void>,
): Promise<void> {
  let startedAt = performance.now()
  let visited = 0
  for (const item of items) {
    const later = visit(item)
    if (later instanceof Promise) await later
    if (++visited % ITEMS_PER_LOOK !== 0 || performance.now() - startedAt < SLICE_MS) continue
    await nextTurn()
    startedAt = performance.now()
  }
}

/** Runs the work to its end; it may be interrupted at each `yield`. Rejects with what it throws. */
export async function runInSlices<R>(work: Generator<void, R>): Promise<R> {
  let startedAt = performance.now()
  for (let step = work.next(); ; step = work.next()) {
    const isOver = performance.now() - startedAt >= SLICE_MS
    // what follows a long last step has its own turn
    if (isOver) await nextTurn()
    if (step.done === true) return step.value
    if (isOver) startedAt = performance.now()
  }
}

/** Looking at the clock after each item would cost more than a small item does. */
const ITEMS_PER_STEP = 64

/** Work for `runInSlices`: calls `visit` with every item, and may be interrupted after each 64 of them. */
export function* visitSteps<T>(items: Iterable<T>, visit: (item: T) => void): Generator<void, void> {
  let visited = 0
  for (const item of items) {
    visit(item)
    if (++visited % ITEMS_PER_STEP === 0) yield
  }
}

/** Runs the work without interruption. Throws what it throws. */
export function runAtOnce<R>(work: Generator<void, R>): R {
  for (;;) {
    const step = work.next()
    if (step.done === true) return step.value
  }
}

/** As `runInSlices`, but the first slice runs at once: work that ends in it needs no other turn. */
export function beginInSlices<R>(work: Generator<void, R>): MaybePromise<R> {
  const startedAt = performance.now()
  for (let step = work.next(); ; step = work.next()) {
    const tookMs = performance.now() - startedAt
    if (step.done === true) {
      noteFirstSlice(tookMs)
      return step.value
    }
    if (firstSlicesMs + tookMs < SLICE_MS) continue
    noteFirstSlice(tookMs)
    return nextTurn().then(() => runInSlices(work))
  }
}

/** Shorter ones are not counted: a timer for each would cost more than they do. */
const COUNTED_MS = 0.3
/** For all first slices in this turn: responses that arrive together share one slice. */
let firstSlicesMs = 0

function noteFirstSlice(ms: number): void {
  if (ms < COUNTED_MS) return
  if (firstSlicesMs === 0)
    setImmediate(() => {
      firstSlicesMs = 0
    })
  firstSlicesMs += ms
}

/** A turn of the event loop that takes less has no work of others. */
const QUIET_MS = 0.1
const PAUSE_MS = 1

const waiting: (() => void)[] = []
let endedAtMs = 0

/**
 * Other work of the event loop comes before what follows; of all that wait, one goes on in each turn of the loop. While there is other work, a
 * pause follows each slice, because long work that fills the turns of a thread takes a call as many slices as it has turns.
 */
export function nextTurn(): Promise<void> {
  return new Promise(resolve => {
    endedAtMs = performance.now()
    if (waiting.push(resolve) === 1) setImmediate(goOnOrPause)
  })
}

function goOnOrPause(): void {
  if (performance.now() - endedAtMs < QUIET_MS) goOn()
  else setTimeout(goOn, PAUSE_MS)
}

function goOn(): void {
  const resolve = waiting.shift()!
  // an immediate of an immediate runs in the next turn
  if (waiting.length > 0) setImmediate(goOnOrPause)
  resolve()
}
