/** Warnings about `ALLOWED_AUDIENCES`: of the provider of a deployment, not of the embedded one, whose tokens are for this gateway. */
import { expect, it } from 'vitest'
import type { AppContext } from '../../../../src/app/main/app-context.ts'
import { openIssuer } from '../../../../src/app/main/identity.ts'
import { SILENT } from '../../../../src/telemetry/log.ts'
import { readSettings } from '../../../fixtures/settings.ts'

const ISSUER = 'https://idp.example/realms/platform'

it.each([
  [{ AUTH_ISSUER: ISSUER }, [{ setting: 'ALLOWED_AUDIENCES', audience: 'account' }]],
  [{ AUTH_ISSUER: ISSUER, ALLOWED_AUDIENCES: 'gateway' }, []],
  [{ AUTH_ISSUER: ISSUER, ALLOWED_AUDIENCES: '' }, [{ setting: 'ALLOWED_AUDIENCES' }]],
  [{ AUTH_ISSUER: 'none', ALLOWED_AUDIENCES: '' }, []],
])('with %j: %j', async (env, expected) => {
  const warnings: object[] = []
  const log = { ...SILENT, warn: (fields: object) => void warnings.push(fields) }
  await openIssuer({ settings: readSettings(env), log } as unknown as AppContext)
  expect(warnings).toEqual(expected)
})
