/** The hot functions of CPU profiles: small ones written by hand, and one that V8 has just recorded. */
import { Session } from 'node:inspector'
import { expect, it } from 'vitest'
import { type CpuProfile, hotFunctions } from '../../../../bench/profile/hot-functions.ts'

const frame = (functionName: string, url = '', lineNumber = -1) => ({
  functionName,
  url,
  lineNumber,
  columnNumber: -1,
})
const PACKAGE = '/home/ann/toolgate/'
const own = (path: string) => `file://${PACKAGE}dist/${path}`

/** root → a → b → a, with the siblings idle and program. */
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

it('counts a sample until the next one, and leaves idle time out', () => {
  const { busyUs, functions } = hotFunctions(PROFILE, PACKAGE)
  expect(busyUs).toBe(10 + 20 + 30 + 40)
  expect(functions.map(({ name }) => name)).not.toContain('(idle)')
})

it('shortens places and names the origin', () => {
  const places = (profile: CpuProfile) =>
    hotFunctions(profile, PACKAGE).functions.map(({ name, place, origin }) => [name, place, origin])
  expect(places(PROFILE)).toEqual([
    ['a', 'gateway/rest.js:41', 'gateway'],
    ['(program)', '', 'native'],
    ['b', 're2js/build/index.js:1', 'dependency'],
  ])
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
  expect(places(others)).toEqual([
    ['(anonymous)', 'node:net:12', 'node'],
    ['admit', 'wasm', 'wasm'],
    ['f', '/elsewhere/stage.js:2', 'gateway'],
  ])
})

it('counts the time of a recursive function once', () => {
  const { functions } = hotFunctions(PROFILE, PACKAGE)
  expect(functions.map(({ name, selfUs, totalUs }) => [name, selfUs, totalUs])).toEqual([
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
  const { busyUs, functions } = hotFunctions(profile!, PACKAGE)
  const spun = functions.find(({ name }) => name === 'spinInTheTest')
  expect(spun?.place).toContain('hot-functions.test.ts')
  expect(spun!.totalUs / busyUs).toBeGreaterThan(0.5)
  const sum = functions.reduce((total, { selfUs }) => total + selfUs, 0)
  expect(Math.abs(sum - busyUs)).toBeLessThan(1000)
})
