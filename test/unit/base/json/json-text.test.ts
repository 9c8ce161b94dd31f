/** What the beginning of a text says: a JSON container, and how many blanks are read before it. */
import { expect, it } from 'vitest'
import { beginsAsContainer } from '../../../../src/base/json/json-text.ts'

it.each(['{"a":1}', '[]', ' \r\n\t[1]', `${' '.repeat(1_000)}{}`])('is a container: %j', text => {
  expect(beginsAsContainer(text)).toBe(true)
})

it.each(['', '1', '"{"', 'text {', '</', `${' '.repeat(1_001)}{}`])('is not a container: %j', text => {
  expect(beginsAsContainer(text)).toBe(false)
})
