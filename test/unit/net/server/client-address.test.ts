/** Which address counts as the caller's, and which texts are CIDRs. */
import { describe, expect, it } from 'vitest'
import { isCidr } from '../../../../src/app/settings/reader.ts'
import { clientAddresses } from '../../../../src/net/server/client-address.ts'
import type { HttpRequest } from '../../../../src/net/server/listener.ts'

const request = (peerAddress: string, forwarded = '') =>
  ({ peerAddress, header: () => forwarded }) as unknown as HttpRequest

describe('the address of the caller', () => {
  it.each([
    ['no proxy is trusted', [], '10.0.0.1', '1.2.3.4', '10.0.0.1'],
    ['a trusted proxy names it', ['10.0.0.0/8'], '10.0.0.1', '1.2.3.4', '1.2.3.4'],
    ['it lied before the proxy', ['10.0.0.0/8'], '10.0.0.1', '9.9.9.9, 1.2.3.4', '1.2.3.4'],
    ['two trusted proxies in a row', ['10.0.0.0/8'], '10.0.0.1', '1.2.3.4, 10.0.0.2', '1.2.3.4'],
    ['the peer is not trusted', ['10.0.0.0/8'], '11.0.0.1', '1.2.3.4', '11.0.0.1'],
    ['no header at all', ['10.0.0.0/8'], '10.0.0.1', '', '10.0.0.1'],
    ['nonsense in the header', ['10.0.0.0/8'], '10.0.0.1', 'unknown', '10.0.0.1'],
    ['a port beside it', ['10.0.0.0/8'], '10.0.0.1', '1.2.3.4:5678', '1.2.3.4'],
    ['IPv6 in brackets', ['::1/128'], '::1', '[2001:db8::7]:443', '2001:db8::7'],
    ['IPv4 inside IPv6', ['::1'], '::1', '::ffff:1.2.3.4', '1.2.3.4'],
  ])('%s', (_, trusted, peer, forwarded, expected) => {
    expect(clientAddresses(trusted)(request(peer, forwarded))).toBe(expected)
  })
})

it.each([
  ['10.0.0.0/8', true],
  ['::/0', true],
  ['1.2.3.4', true],
  ['1.2.3.4/33', false],
  ['host', false],
  ['1.2.3.4/8/8', false],
])('takes %s for a CIDR: %s', (text, expected) => {
  expect(isCidr(text)).toBe(expected)
})
