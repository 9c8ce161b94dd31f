/** The hosts that count as loopback, for settings, commands and the steps of `toolgate doctor`. No name is resolved. */
import { expect, it } from 'vitest'
import { isLoopback } from '../../../src/base/loopback.ts'

it.each([
  'localhost',
  'LOCALHOST',
  'localhost.',
  'shop.localhost',
  'a.shop.localhost.',
  '127.0.0.1',
  '127.255.255.254',
  '::1',
  '[::1]',
  '0:0:0:0:0:0:0:1',
  '::ffff:127.0.0.1',
  '[::ffff:7f00:1]',
])('%s is loopback', host => {
  expect(isLoopback(host)).toBe(true)
})

it.each([
  '',
  '.localhost',
  'notlocalhost',
  'localhost.example.com',
  '127.0.0.1.example.com',
  '127.999.0.1',
  '126.255.255.255',
  '128.0.0.1',
  '0.0.0.0',
  '::',
  '::2',
  '::ffff:10.0.0.1',
  'localhost/x',
  'x@localhost',
])('"%s" is not loopback', host => {
  expect(isLoopback(host)).toBe(false)
})
