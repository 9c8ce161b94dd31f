/** The owner of a session: the same for every token of one caller, different for every other caller. */
import { describe, expect, it } from 'vitest'
import { ownerOf } from '../../../../src/data-plane/sessions/owner.ts'
import { aPrincipal } from '../../../fixtures/exchange.ts'

describe('ownerOf', () => {
  const owner = ownerOf(aPrincipal())

  it('is 16 hex digits that do not depend on the token', () => {
    expect(owner).toMatch(/^[0-9a-f]{16}$/)
    expect(ownerOf(aPrincipal({ scopes: ['write'], roles: ['cpi-admin'], expiresAtMs: 1 }))).toBe(owner)
  })

  it.each([
    ['consumer', { consumer: 'another-agent' }],
    ['subject', { subject: 'another-user' }],
    ['tenant', { tenant: 'globex' }],
    ['tenant, when there is none', { tenant: undefined }],
  ])('differs by %s', (_, fields) => {
    expect(ownerOf(aPrincipal(fields))).not.toBe(owner)
  })

  it('does not confuse fields whose texts join to the same', () => {
    expect(ownerOf(aPrincipal({ subject: 'a', consumer: 'bc' }))).not.toBe(
      ownerOf(aPrincipal({ subject: 'ab', consumer: 'c' })),
    )
  })
})
