/** The functions of a V8 CPU profile with their self and total times. */

/** `Profiler.Profile` of the DevTools protocol, the fields read here. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: {
      readonly functionName: string
      readonly url: string
      /** From 0; -1 if unknown to V8. */
      readonly lineNumber: number
      readonly columnNumber: number
    }
    readonly children?: readonly number[]
  }[]
  /** Id of the node of each sample. */
  readonly samples: readonly number[]
  /** µs between a sample and the one before it. */
  readonly timeDeltas: readonly number[]
}

/** `native` are the names V8 puts in brackets: system calls, compiled libraries, the garbage collector. */
export type Origin = 'gateway' | 'dependency' | 'node' | 'wasm' | 'native'

export interface HotFunction {
  readonly name: string
  /** `data-plane/http/rest.js:41`, `undici/lib/…:7`, `node:net:12`, `wasm`; '' for native code. */
  readonly place: string
  readonly origin: Origin
  readonly selfUs: number
  /** Including callees; recursive calls count once. */
  readonly totalUs: number
}

export interface HotFunctions {
  /** Time in which the thread was not idle. */
  readonly busyUs: number
  /** Every function that used time, once, by self time in descending order. */
  readonly functions: readonly HotFunction[]
}

const IDLE = '(idle)'

/** @param packageDir prefix removed from places, with a slash at its end */
export function hotFunctions(profile: CpuProfile, packageDir: string): HotFunctions {
  const nodes = new Map(profile.nodes.map(node => [node.id, node]))
  const selfUs = selfTimes(profile)
  const found = new Map<string, { -readonly [K in keyof HotFunction]: HotFunction[K] }>()
  const onStack = new Set<string>()

  /** @returns the total time of the node, µs */
  const visit = (id: number): number => {
    const { callFrame, children = [] } = nodes.get(id)!
    if (callFrame.functionName === IDLE) return 0
    const name = callFrame.functionName || '(anonymous)'
    const where = whereOf(callFrame.url, callFrame.lineNumber, packageDir)
    const key = `${name} ${where.place}`
    const entry = found.get(key) ?? { name, ...where, selfUs: 0, totalUs: 0 }
    found.set(key, entry)
    const isOutermost = !onStack.has(key)
    onStack.add(key)
    const ownUs = selfUs.get(id) ?? 0
    const totalUs = children.reduce((sum, child) => sum + visit(child), ownUs)
    entry.selfUs += ownUs
    if (isOutermost) {
      entry.totalUs += totalUs
      onStack.delete(key)
    }
    return totalUs
  }

  const root = profile.nodes[0]!
  const calledUs = (root.children ?? []).reduce((sum, child) => sum + visit(child), 0)
  const functions = [...found.values()].filter(each => each.totalUs > 0).sort((a, b) => b.selfUs - a.selfUs)
  return { busyUs: calledUs + (selfUs.get(root.id) ?? 0), functions }
}

/** A sample counts until the next one. */
function selfTimes({ samples, timeDeltas }: CpuProfile): ReadonlyMap<number, number> {
  const selfUs = new Map<number, number>()
  for (let at = 0; at + 1 < samples.length; at++) {
    const id = samples[at]!
    selfUs.set(id, (selfUs.get(id) ?? 0) + Math.max(0, timeDeltas[at + 1]!))
  }
  return selfUs
}

function whereOf(url: string, line: number, packageDir: string): { place: string; origin: Origin } {
  const at = line >= 0 ? `:${line + 1}` : ''
  if (url === '') return { place: '', origin: 'native' }
  if (url.startsWith('wasm:')) return { place: 'wasm', origin: 'wasm' }
  if (url.startsWith('node:')) return { place: url + at, origin: 'node' }
  const path = url.replace(/^file:\/\//, '')
  const dependency = path.lastIndexOf('/node_modules/')
  if (dependency >= 0)
    return { place: path.slice(dependency + '/node_modules/'.length) + at, origin: 'dependency' }
  const own = path.startsWith(packageDir) ? path.slice(packageDir.length).replace(/^(dist|src)\//, '') : path
  return { place: own + at, origin: 'gateway' }
}
