/** A CPU profile as a tree of calls: small ones by hand, and one that V8 has just made. */
import { Session } from 'node:inspector'
import { expect, it } from 'vitest'
import {
  type CallNode,
  type CpuProfile,
  callTree,
  hotFunctions,
} from '../../../../../src/app/cli/bench/call-tree.ts'

const frame = (functionName: string, url = '', lineNumber = -1) => ({
  functionName,
  url,
  lineNumber,
  columnNumber: -1,
})
const PACKAGE = '/home/ann/toolgate/'
const own = (path: string) => `file://${PACKAGE}dist/${path}`

/** root → a → b → a; idle and program beside. */
const PROFILE: CpuProfile = {
  nodes: [
    { id: 1, callFrame: frame('(root)'), children: [2, 3, 6] },
    { id: 2, callFrame: frame('(idle)') },
    { id: 3, callFrame: frame('a', own('gateway/rest.js'), 40), children: [4] },
    { id: 4, callFrame: frame('b', `file://${PACKAGE}node_modules/re2js/build/index.js`, 0), children: [5] },
    { id: 5, callFrame: frame('a', own('gateway/rest.js'), 40) },
    { id: 6, callFrame: frame('(program)') },
  ],
  samples: [2, 3, 4, 5, 6, 2],
  timeDeltas: [999, 100, 10, 20, 30, 40],
}

it('gives the time until the next sample to the call a sample fell on, and leaves idle time out', () => {
  const root = callTree(PROFILE, PACKAGE)
  expect(root.totalUs).toBe(10 + 20 + 30 + 40)
  expect(root.children.map(({ name, totalUs }) => [name, totalUs])).toEqual([
    ['a', 60],
    ['(program)', 40],
  ])
})

it('names places short, and whose code it is', () => {
  const [a, program] = callTree(PROFILE, PACKAGE).children
  expect([a!.place, a!.origin]).toEqual(['gateway/rest.js:41', 'gateway'])
  expect([program!.place, program!.origin]).toEqual(['', 'native'])
  expect([a!.children[0]!.place, a!.children[0]!.origin]).toEqual(['re2js/build/index.js:1', 'dependency'])
  const others: CpuProfile = {
    nodes: [
      { id: 1, callFrame: frame('(root)'), children: [2, 3, 4] },
      { id: 2, callFrame: frame('', 'node:net', 11) },
      { id: 3, callFrame: frame('admit', 'wasm://wasm/a1b2', 0) },
      { id: 4, callFrame: frame('f', 'file:///elsewhere/stage.js', 1) },
    ],
    samples: [2, 3, 4, 1],
    timeDeltas: [0, 3, 2, 1],
  }
  expect(callTree(others, PACKAGE).children.map(({ name, place, origin }) => [name, place, origin])).toEqual([
    ['(anonymous)', 'node:net:12', 'node'],
    ['admit', 'wasm', 'wasm'],
    ['f', '/elsewhere/stage.js:2', 'gateway'],
  ])
})

it('counts a function once, also where it calls itself', () => {
  const found = hotFunctions(callTree(PROFILE, PACKAGE))
  expect(found.map(({ name, selfUs, totalUs }) => [name, selfUs, totalUs])).toEqual([
    ['a', 40, 60],
    ['(program)', 40, 40],
    ['b', 20, 50],
  ])
})

it('finds the busy function in a profile of this process', () => {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.setSamplingInterval', { interval: 200 })
  session.post('Profiler.start')
  const endsAt = performance.now() + 300
  function spinInTheTest(): number {
    let sum = 0
    while (performance.now() < endsAt) for (let at = 0; at < 10_000; at++) sum += Math.sqrt(at)
    return sum
  }
  expect(spinInTheTest()).toBeGreaterThan(0)
  let profile: CpuProfile | undefined
  session.post('Profiler.stop', (_, made) => {
    profile = made.profile as unknown as CpuProfile
  })
  session.disconnect()
  const tree = callTree(profile!, PACKAGE)
  const spun = hotFunctions(tree).find(({ name }) => name === 'spinInTheTest')
  expect(spun?.place).toContain('call-tree.test.ts')
  expect(spun!.totalUs / tree.totalUs).toBeGreaterThan(0.5)
  const sum = ({ selfUs, children }: CallNode): number =>
    children.reduce((total, child) => total + sum(child), selfUs)
  expect(Math.abs(sum(tree) - tree.totalUs)).toBeLessThan(1)
})
