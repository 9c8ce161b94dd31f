/** What the built module may hold: an imported shared memory, and no data that a second instance would write. Also its constants and arena. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
// @ts-expect-error a script without types
import { hostConstants } from '../../../../scripts/kernel-abi.mjs'
import * as abi from '../../../../src/data-plane/kernel/abi.ts'

const ROOT = new URL('../../../../', import.meta.url)
const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8')

/** Section ids in order (WebAssembly core 1.0 §5.5.2). */
function sections(wasm: Uint8Array): number[] {
  const ids: number[] = []
  for (let at = 8; at < wasm.length; ) {
    ids.push(wasm[at++]!)
    let size = 0
    for (let shift = 0; ; shift += 7) {
      const byte = wasm[at++]!
      size |= (byte & 0x7f) << shift
      if (byte < 0x80) break
    }
    at += size
  }
  return ids
}

describe.each(['build/kernel.wasm', 'build/kernel.debug.wasm'])('%s', file => {
  const wasm = readFileSync(new URL(file, ROOT))

  test('imports a shared memory and nothing else', () => {
    const text = read(file.replace('.wasm', '.wat'))
    expect(text.match(/\(import .*/g)).toEqual(['(import "env" "memory" (memory $0 1 16384 shared))'])
  })

  test('has no data segment: instantiating it beside a running one changes no byte', () => {
    const DATA = 11
    expect(sections(wasm)).not.toContain(DATA)
    expect(sections(wasm)).toContain(10)
  })
})

test('src/data-plane/kernel/abi.ts is what assembly/abi.ts says', () => {
  expect(read('src/data-plane/kernel/abi.ts')).toBe(hostConstants(read('assembly/abi.ts')))
  expect(() => hostConstants('/** x */\nexport const A: i32 = 1 + 2')).toThrow(/cannot be copied/)
})

test('the parts of an arena do not overlap, with space after each for a vector load past its end', () => {
  const parts = [
    [abi.RESULT_PATH, abi.RESULT_REFUSED_AT + 4],
    // A parameter may be captured beyond the last: one pair of slack.
    [abi.RESULT_PARAMS, abi.RESULT_PARAMS + abi.MAX_PARAMS * 8 + 8],
    [abi.ARENA_STACK, abi.ARENA_STACK + abi.MAX_SEGMENTS * 2 * 16],
    [abi.ARENA_CLASSES, abi.ARENA_CLASSES + 80],
    [abi.ARENA_INPUT, abi.ARENA_INPUT + abi.MAX_PATH_BYTES + 64],
    [abi.ARENA_OUTPUT, abi.ARENA_OUTPUT + 3 * abi.MAX_PATH_BYTES + 64],
    [abi.ARENA_SIZE, abi.ARENA_SIZE],
  ] as const
  for (const [i, [, end]] of parts.slice(0, -1).entries()) expect(end).toBeLessThanOrEqual(parts[i + 1]![0])
})
