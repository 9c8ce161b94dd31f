/** Method names and numbers. */
import { expect, test } from 'vitest'
import { METHOD_ANY, METHOD_OTHER } from '../../../../src/data-plane/kernel/abi.ts'
import { methodNames, methodNumber, routeMethodNumber } from '../../../../src/data-plane/kernel/method.ts'

const NAMES = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'CONNECT']

test('each method has its number, and its number its name', () => {
  expect(NAMES.map(methodNumber)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
  expect(NAMES.map((_, number) => methodNames(1 << number))).toEqual(NAMES.map(name => [name]))
  expect(methodNames(0b101)).toEqual(['GET', 'POST'])
  expect(methodNames(0)).toEqual([])
})

test.each([
  '',
  'get',
  'Get',
  'GETT',
  'GE',
  'POS',
  'PROPFIND',
  'DELET',
  'HEADS',
  'OPTION',
  'TRACED',
  'CONNEC',
  'QUERY',
  '*',
])('%j is another method', name => {
  expect(methodNumber(name)).toBe(METHOD_OTHER)
})

test('a route can have any method, but none without a number', () => {
  expect(routeMethodNumber('*')).toBe(METHOD_ANY)
  expect(routeMethodNumber('PATCH')).toBe(5)
  expect(routeMethodNumber('PURGE')).toBeUndefined()
})
