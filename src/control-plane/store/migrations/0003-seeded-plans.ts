/** Migration 3: the four global plans every installation begins with (contract §5). Deleting one later is not undone. */

/** slug, name, per second, minute, day, month; identifiers are fixed, so that every installation has the same. */
const PLANS = [
  ['community', 'Community', 5, 60, 10_000, 100_000],
  ['silver', 'Silver', 20, 300, 50_000, 1_000_000],
  ['gold', 'Gold', 100, 5_000, 500_000, 10_000_000],
  ['enterprise', 'Enterprise', 0, 0, 0, 0],
] as const

const row = ([slug, name, ...limits]: (typeof PLANS)[number], index: number) =>
  `('plan_0000000000${'0'.repeat(15)}${index + 1}', null, '${slug}', '${name}', ${limits.join(', ')}, 0, true, 1,
    '2026-01-01T00:00:00Z', '2026-01-01T00:00:00Z')`

export const statements: readonly string[] = [
  `select set_config('toolgate.tenant', '*', true)`,
  `insert into plans (id, tenant_id, slug, name, per_second, per_minute, per_day, per_month, burst, requires_approval,
    revision, created_at, updated_at) values ${PLANS.map(row).join(', ')}`,
]
