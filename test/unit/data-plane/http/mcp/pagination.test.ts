/** Pages of lists in the order of a ToolView, and of lists that change between two pages. */
import { describe, expect, it } from 'vitest'
import { PAGE_SIZE, pageOf } from '../../../../../src/data-plane/http/mcp/pagination.ts'

const listOf = (names: readonly string[]) => names.map(name => ({ tool: { name } }))
const byName = Array.from({ length: PAGE_SIZE + 100 }, (_, at) => `tool${String(at).padStart(4, '0')}`)
const ofView = byName.toReversed()

describe.each([
  ['by name', byName],
  ['of a view', ofView],
])('a list %s', (_, names) => {
  const cursor = pageOf(listOf(names), undefined)!.nextCursor!

  it('goes on after the last entry of the page', () => {
    expect(pageOf(listOf(names), cursor)).toEqual({
      from: PAGE_SIZE,
      to: names.length,
      nextCursor: undefined,
    })
  })

  it('goes on there when entries before it have gone or come', () => {
    expect(pageOf(listOf(names.slice(3)), cursor)!.from).toBe(PAGE_SIZE - 3)
    expect(pageOf(listOf(['search', ...names]), cursor)!.from).toBe(PAGE_SIZE + 1)
  })

  it('skips no entry when the one that the cursor names has gone', () => {
    const left = names.toSpliced(PAGE_SIZE - 1, 1)
    expect(left[pageOf(listOf(left), cursor)!.from]).toBe(names[PAGE_SIZE])
  })
})

it('reads the cursor of an older gateway, and no other text', () => {
  const older = Buffer.from(`after:${byName[9]}`).toString('base64url')
  expect(pageOf(listOf(byName), older)!.from).toBe(10)
  for (const foreign of ['', 'after:x', Buffer.from('x').toString('base64url'), `${older}=`])
    expect(pageOf(listOf(byName), foreign)).toBeUndefined()
})
