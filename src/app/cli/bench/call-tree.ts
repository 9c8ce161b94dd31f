/** A CPU profile of V8 as a tree of calls with times, and its dearest functions. It reads and writes no file. */

/** `Profiler.Profile` of the DevTools protocol, the part that is read. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: {
      readonly functionName: string
      readonly url: string
      /** From 0; -1 where V8 knows none. */
      readonly lineNumber: number
      readonly columnNumber: number
    }
    readonly children?: readonly number[]
  }[]
  /** Id of the node each sample fell on. */
  readonly samples: readonly number[]
  /** µs between a sample and the one before it. */
  readonly timeDeltas: readonly number[]
}

/** Whose code a function is; `native` is what V8 names in brackets: system calls, compiled libraries, the garbage collector. */
export type Origin = 'gateway' | 'dependency' | 'node' | 'wasm' | 'native'

export interface CallNode {
  readonly name: string
  /** `gateway/rest.js:41`, `undici/lib/…:7`, `node:net:12`; '' for what is native. */
  readonly place: string
  readonly origin: Origin
  selfUs: number
  totalUs: number
  readonly children: CallNode[]
}

export interface HotFunction {
  readonly name: string
  readonly place: string
  readonly origin: Origin
  readonly selfUs: number
  /** With what it called, counted once where it calls itself. */
  readonly totalUs: number
}

/** Time without work; a load that the gateway outruns leaves some. */
const IDLE = '(idle)'

/**
 * @returns the root; its `totalUs` is the time in which the thread was busy. Idle time is left out.
 * @param packageDir of which the places are written short, with a slash at its end
 */
export function callTree(profile: CpuProfile, packageDir: string): CallNode {
  const nodes = new Map(profile.nodes.map(node => [node.id, node]))
  const selfUs = new Map<number, number>()
  // a sample holds until the next one is taken
  for (let at = 0; at + 1 < profile.samples.length; at++) {
    const id = profile.samples[at]!
    selfUs.set(id, (selfUs.get(id) ?? 0) + Math.max(0, profile.timeDeltas[at + 1]!))
  }
  const build = (id: number): CallNode => {
    const { callFrame, children = [] } = nodes.get(id)!
    const node: CallNode = {
      name: callFrame.functionName || '(anonymous)',
      ...whereOf(callFrame.url, callFrame.lineNumber, packageDir),
      selfUs: selfUs.get(id) ?? 0,
      totalUs: 0,
      children: children
        .map(build)
        .filter(child => child.totalUs > 0 && child.name !== IDLE)
        .sort((a, b) => b.totalUs - a.totalUs),
    }
    node.totalUs = node.children.reduce((sum, child) => sum + child.totalUs, node.selfUs)
    return node
  }
  return build(profile.nodes[0]!.id)
}

/** Every function once, the one with most time of its own first. */
export function hotFunctions(root: CallNode): readonly HotFunction[] {
  const found = new Map<string, { -readonly [K in keyof HotFunction]: HotFunction[K] }>()
  const open = new Set<string>()
  const visit = (node: CallNode): void => {
    const key = `${node.name} ${node.place}`
    let entry = found.get(key)
    if (entry === undefined) {
      const { name, place, origin } = node
      entry = { name, place, origin, selfUs: 0, totalUs: 0 }
      found.set(key, entry)
    }
    entry.selfUs += node.selfUs
    const outermost = !open.has(key)
    if (outermost) {
      entry.totalUs += node.totalUs
      open.add(key)
    }
    for (const child of node.children) visit(child)
    if (outermost) open.delete(key)
  }
  for (const child of root.children) visit(child)
  return [...found.values()].sort((a, b) => b.selfUs - a.selfUs)
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
