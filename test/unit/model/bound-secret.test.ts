/** Secrets and the hosts that they name: how hosts are written, and which addresses they cover. */
import { expect, it } from 'vitest'
import { bindingFault, boundSecret } from '../../../src/model/bound-secret.ts'

const ref = { name: 'crm', key: 'token' }
const hostsOf = (text: string | undefined) => boundSecret(ref, 'x\n', text)

it('a secret names hosts, ports and domains', () => {
  expect(hostsOf(undefined)).toEqual({ value: 'x' })
  expect(hostsOf(' API.example.com,\n*.example.org\t[::1]:8080\n').hosts).toEqual([
    'api.example.com',
    '*.example.org',
    '[::1]:8080',
  ])
  for (const wrong of ['https://a.example', 'a.example/path', '*', '*example.com', 'a b@c', 'a.example:'])
    expect(() => hostsOf(wrong), wrong).toThrow(
      /the key token\.hosts of the secret crm contains ".+", which is not a host/,
    )
})

it.each([
  ['api.example.com', 'https://api.example.com/v1', true],
  ['api.example.com', 'http://API.example.com:8443', true],
  ['api.example.com', 'https://api.example.com.evil.example', false],
  ['api.example.com', 'https://api.example.com@evil.example', false],
  ['api.example.com:443', 'https://api.example.com', true],
  ['api.example.com:443', 'http://api.example.com', false],
  ['api.example.com:8443', 'https://api.example.com:8443', true],
  ['*.example.com', 'https://a.b.example.com', true],
  ['*.example.com', 'https://example.com', false],
  ['*.example.com', 'https://badexample.com', false],
  ['*.example.com:8443', 'https://a.example.com:8443', true],
  ['*.example.com:8443', 'https://a.example.com', false],
  ['127.0.0.1', 'http://2130706433/', true],
  ['[::1]', 'http://[::1]:9000', true],
  ['[::1]:80', 'http://[::1]', true],
  ['', 'https://api.example.com', false],
])('%j covers %s: %s', (listed, address, isCovered) => {
  expect(bindingFault(hostsOf(listed), address) === undefined).toBe(isCovered)
})

it('the secret of an OAuth client may be sent to its authorization server, too', () => {
  const { hosts } = hostsOf('api.example.com auth.example.com')
  const oauth = { clientId: 'a', clientAuthentication: 'basic' } as const
  const at = (tokenUrl: string, rest = {}) =>
    bindingFault({ hosts: hosts!, oauth: { ...oauth, tokenUrl, ...rest } }, 'https://api.example.com')
  expect(at('https://auth.example.com/token')).toBeUndefined()
  expect(at('https://evil.example/token')).toContain('may not be sent to evil.example.')
  expect(at('https://auth.example.com/token', { revocationUrl: 'https://evil.example' })).toContain('evil')
})
