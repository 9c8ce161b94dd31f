/** The prediction of long responses, which decides whether a backend is called while there is little space. */
import { expect, it } from 'vitest'
import { ResponseSizes } from '../../../../../src/data-plane/stages/5-invoke/response-sizes.ts'
import type { Tool } from '../../../../../src/model/tool.ts'

const MIB = 1024 * 1024
const aTool = (): Tool => ({}) as Tool

function expectedAfter(...responses: number[]): number {
  const [sizes, tool] = [new ResponseSizes(), aTool()]
  for (const bytes of responses) sizes.note(tool, bytes)
  sizes.note(aTool(), 8 * MIB)
  return sizes.expectedBytes(tool)
}

it.each([
  ['nothing of a tool that has not responded', [], 0],
  ['nothing of one whose responses are short', [10, 20, 30], 0],
  ['nothing after two long responses', [8 * MIB, 8 * MIB], 0],
  ['the least of three long responses', [3 * MIB, MIB, 2 * MIB], MIB],
  ['the least of the last three', [MIB, 8 * MIB, 9 * MIB, 7 * MIB], 7 * MIB],
  ['nothing of one that also responds with little', [8 * MIB, 8 * MIB, 100, 8 * MIB, 8 * MIB], 0],
  ['the size again after three long ones', [8 * MIB, 100, 8 * MIB, 8 * MIB, 8 * MIB], 8 * MIB],
  ['nothing after short ones', [8 * MIB, 8 * MIB, 8 * MIB, 100, 100, 100, 8 * MIB, 8 * MIB], 0],
])('expects %s', (_what, responses, expected) => {
  expect(expectedAfter(...responses)).toBe(expected)
})
