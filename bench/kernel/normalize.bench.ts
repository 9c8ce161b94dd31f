/** Path normalization: a clean path of 38 bytes and a dirty one of 40, fresh from the socket. */
import { createKernel } from '../../src/data-plane/kernel/create.ts'
import { createTwin } from '../../test/oracles/kernel/twin.ts'
import type { BenchCase, Suite } from '../suite.ts'
import { normalize } from './best-js.ts'
import { BATCH, FreshPaths } from './requests.ts'

const pad = (i: number): string => String(i).padStart(4, '0')
/** Given and canonical. */
const CLEAN = Array.from({ length: 4096 }, (_, i): [string, string] => {
  const path = `/api/v1/orders-${pad(i)}/items/${pad(4095 - i)}/history`
  return [path, path]
})
const DIRTY = Array.from({ length: 4096 }, (_, i): [string, string] => [
  `/api//v1/./orders/%7e${pad(i)}/x/../%c3%a9/ab`,
  `/api/v1/orders/~${pad(i)}/%C3%A9/ab`,
])

/** A case for each engine; a fresh function each, so that one's types do not slow another. */
function cases(kind: string, paths: readonly (readonly [string, string])[]): BenchCase[] {
  const fresh = new FreshPaths(paths.map(([given]) => given))
  const prepare = (): void => fresh.next()
  const { kernel } = createKernel()
  const { kernel: twin } = createTwin()
  for (const [given, canonical] of paths)
    for (const [name, engine] of Object.entries({ wasm: kernel, twin })) {
      if (engine.normalize(given) !== 0 || engine.normalizedPath(given) !== canonical)
        throw new Error(`${name} makes ${engine.normalizedPath()} of ${given}`)
      if (normalize(given) !== canonical) throw new Error(`best-js makes ${normalize(given)} of ${given}`)
    }
  const check = (sum: number, wanted: number): void => {
    if (sum !== wanted) throw new Error(`a wrong response: ${sum} instead of ${wanted}`)
  }
  const lengths = (): number => {
    let sum = 0
    for (let i = 0; i < BATCH; i++) sum += paths[fresh.at + i]![1].length
    return sum
  }
  return [
    {
      id: `${kind}/wasm`,
      perRun: BATCH,
      prepare,
      run() {
        let faults = 0
        for (let i = 0; i < BATCH; i++) faults |= kernel.normalize(fresh.batch[i]!)
        check(faults, 0)
      },
    },
    {
      id: `${kind}/wasm-and-string`,
      perRun: BATCH,
      prepare,
      run() {
        let sum = 0
        for (let i = 0; i < BATCH; i++) {
          const path = fresh.batch[i]!
          if (kernel.normalize(path) === 0) sum += kernel.normalizedPath(path).length
        }
        check(sum, lengths())
      },
    },
    {
      id: `${kind}/twin`,
      perRun: BATCH,
      prepare,
      run() {
        let sum = 0
        for (let i = 0; i < BATCH; i++) {
          const path = fresh.batch[i]!
          if (twin.normalize(path) === 0) sum += twin.normalizedPath().length
        }
        check(sum, lengths())
      },
    },
    {
      id: `${kind}/best-js`,
      perRun: BATCH,
      prepare,
      run() {
        let sum = 0
        for (let i = 0; i < BATCH; i++) sum += normalize(fresh.batch[i]!).length
        check(sum, lengths())
      },
    },
  ]
}

export default {
  id: 'kernel/normalize',
  title:
    'Normalize a path of 38 bytes (clean) or 40 (dirty), string to canonical bytes (wasm) or to a string',
  reference: 'best-js',
  cases: () => [...cases('clean', CLEAN), ...cases('dirty', DIRTY)],
} satisfies Suite
