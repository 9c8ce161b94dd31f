/** The text that `toolgate config diff` and `apply` print. */
import { expect, it } from 'vitest'
import { type Changes, showChanges } from '../../../../../src/app/cli/config/show.ts'

const NONE: Changes = { changes: [], drift: [], foreign: [], unlisted: [], missing_secrets: [] }

function shown(result: Partial<Changes>): string {
  return showChanges({ ...NONE, ...result }, false)
}

it('says that a secret has another value, with the name of the secret', () => {
  const secret = { from: 'BILLING_SECRET' }
  const headers = { 'X-One': { from: 'ONE' }, 'X-Two': { from: 'TWO' } }
  const fields = [
    { field: 'secret', from: secret, to: secret },
    { field: 'custom_headers', from: headers, to: headers },
    { field: 'name', from: 'a', to: 'a' },
    { field: 'url', from: 'https://a', to: 'https://b' },
  ]
  expect(shown({ changes: [{ action: 'update', path: 'tenants/acme/webhooks/billing', fields }] })).toContain(
    [
      '    secret: the value of BILLING_SECRET has changed',
      '    custom_headers: the value of ONE or TWO has changed',
      '    name: the value has changed',
      '    url: "https://a" → "https://b"',
    ].join('\n'),
  )
})

it('says which environment variable is missing', () => {
  expect(shown({ missing_secrets: ['BILLING_SECRET'] })).toContain(
    '! a secret in the files needs the environment variable BILLING_SECRET or BILLING_SECRET_FILE; set one of them\n',
  )
})

it('distinguishes changes and deletions outside of apply', () => {
  const drift = [
    { path: 'plans/gold', field: 'per_day', applied: 1, live: 2 },
    { path: 'plans/old', field: null, applied: null, live: null },
  ]
  const text = shown({ drift })
  expect(text).toContain('! plans/gold per_day was changed outside of `config apply`: 1 → 2\n')
  expect(text).toContain('! plans/old was deleted outside of `config apply`\n')
})
