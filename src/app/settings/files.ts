/** Checks settings that name files or need code of other parts, before the start. */
import { readFile } from 'node:fs/promises'
import { isRemote } from '../../policy/live/bundle-source.ts'
import type { Settings } from '../settings.ts'
import type { SettingFault } from './reader.ts'

/** @param fix absent: the value may name a file */
type Check = readonly [name: string, check: () => Promise<unknown>, fix?: string]

/** Runs all checks. `STAGES` is loaded, so its module runs; the other checks only read. Each check loads its code only in the roles that need it. */
export async function findFileFaults(settings: Settings): Promise<SettingFault[]> {
  const { role, policy, plansFile, stages, databaseUrl, databaseDirectUrl, dataDir, egressAllow, portal } =
    settings
  const checks: Check[] = [egressCheck(egressAllow)]
  if (policy.engine === 'opa-wasm' && !isRemote(policy.bundle))
    checks.push([
      'POLICY_BUNDLE',
      async () => {
        const { readBundle } = await import('../../policy/bundle.ts')
        readBundle(await readFile(policy.bundle))
      },
    ])
  if (role !== 'control-plane')
    checks.push(
      ['PLANS', async () => (await import('../../data-plane/quota/plans.ts')).readPlans(plansFile)],
      ['STAGES', async () => (await import('../main/data-plane/deployment-stages.ts')).loadStages(stages)],
    )
  if (role !== 'gateway' && portal.enabled)
    checks.push([
      'PORTAL_THEME',
      async () => (await import('../main/portal-theme.ts')).readTheme(portal.theme),
    ])
  if (role !== 'gateway')
    checks.push([
      'DATABASE_URL',
      async () => {
        const { checkDatabaseFiles, databaseTarget } = await import(
          '../../control-plane/store/database-url.ts'
        )
        const { kind } = databaseTarget(databaseUrl, dataDir)
        if (kind === 'postgres') checkDatabaseFiles('DATABASE_URL', databaseUrl)
        if (databaseDirectUrl !== undefined) checkDatabaseFiles('DATABASE_DIRECT_URL', databaseDirectUrl)
      },
    ])
  return faultsOf(checks)
}

/** The faults of `EGRESS_ALLOW`, for a command that reads only this setting of an egress client. */
export function findEgressFaults(allow: readonly string[]): Promise<SettingFault[]> {
  return faultsOf([egressCheck(allow)])
}

function egressCheck(allow: readonly string[]): Check {
  return [
    'EGRESS_ALLOW',
    async () => {
      const { createAddressGuard } = await import('../../net/egress/address-guard.ts')
      createAddressGuard({ allow, allowLoopback: false })
    },
    'Correct or remove this entry.',
  ]
}

async function faultsOf(checks: readonly Check[]): Promise<SettingFault[]> {
  const faults = await Promise.all(
    checks.map(([name, check, fix = 'Correct the value, or the file that the value names.']) =>
      check().then(
        () => [],
        (error: unknown) => [{ name, reason: reasonOf(name, error), fix }],
      ),
    ),
  )
  return faults.flat()
}

function reasonOf(name: string, error: unknown): string {
  const message = (error instanceof Error ? error.message : String(error)).replace(/\.?$/, '.')
  if (message.startsWith(`${name} `)) return message.slice(name.length + 1)
  return `is not valid: ${message.startsWith(`${name}: `) ? message.slice(name.length + 2) : message}`
}
