/** Addresses as messages show them: which parts are left out, of valid and of invalid text. */
import { describe, expect, it } from 'vitest'
import { shownAddress, shownReference } from '../../../src/base/shown-address.ts'

describe('an address as messages show it', () => {
  it.each([
    ['https://mcp.example:8443/crm/mcp', 'https://mcp.example:8443/crm/mcp'],
    ['https://mcp.example/crm?token=canary', 'https://mcp.example/crm'],
    ['https://mcp.example?token=canary', 'https://mcp.example'],
    ['https://mcp.example/crm#canary', 'https://mcp.example/crm'],
    ['https://user:canary@mcp.example/crm?canary', 'https://mcp.example/crm'],
    ['https://canary@mcp.example', 'https://mcp.example'],
    ['https://user:can@ary@mcp.example/', 'https://mcp.example/'],
    ['https:user:canary@mcp.example/crm', 'https:mcp.example/crm'],
    ['https:\\\\user:canary@mcp.example\\crm', 'https:\\\\mcp.example\\crm'],
    [' HTTPS://user:canary@mcp.example', ' HTTPS://mcp.example'],
    ['//user:canary@mcp.example/crm', '//mcp.example/crm'],
    ['http+unix://%2Frun%2Fcrm.sock/v1?canary', 'http+unix://%2Frun%2Fcrm.sock/v1'],
    ['https://mcp.example/@scope/x', 'https://mcp.example/@scope/x'],
    ['@scope/schemas/a@1.yaml?canary', '@scope/schemas/a@1.yaml'],
    ['', ''],
  ])('%s is %s', (address, shown) => expect(shownAddress(address)).toBe(shown))

  it('is cut off after 200 characters', () => {
    expect(shownAddress(`https://mcp.example/${'x'.repeat(300)}`)).toHaveLength(200)
  })

  it('keeps the place in the file that a reference names', () => {
    expect(shownReference('pets.yaml?sig=canary#/a?b')).toBe('pets.yaml#/a?b')
    expect(shownReference('#/components/schemas/Pet')).toBe('#/components/schemas/Pet')
    expect(shownReference('pets.yaml?sig=canary')).toBe('pets.yaml')
  })
})
