/** Pages and searches, the same for every list. It knows no table. */
import { type Expression, type ExpressionBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { Page, PageRequest } from '../repositories.ts'
import { EVERY_TENANT, type Scope } from '../store.ts'

/** A pattern that finds the text anywhere; `%`, `_` and `\` in it stand for themselves. */
export function containsPattern(text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`
}

/** `column ilike '%q%'` over several columns. */
export function matches<DB, TB extends keyof DB>(
  eb: ExpressionBuilder<DB, TB>,
  columns: readonly Expression<unknown>[],
  q: string,
): Expression<SqlBool> {
  const pattern = containsPattern(q)
  return eb.or(columns.map(column => sql<SqlBool>`${column} ilike ${pattern} escape '\\'`))
}

/** True for rows of the scope's tenant; of every tenant in the platform's scope. */
export function inScope(scope: Scope, tenantId: Expression<string | null>): Expression<SqlBool> {
  return scope === EVERY_TENANT ? sql<SqlBool>`true` : sql<SqlBool>`${tenantId} = ${scope}`
}

/** One page of a filtered query in the order of `id`, which is that of creation, with the number of all its rows. */
export async function page<DB, TB extends keyof DB, O>(
  query: SelectQueryBuilder<DB, TB, object>,
  select: (query: SelectQueryBuilder<DB, TB, object>) => SelectQueryBuilder<DB, TB, O>,
  request: PageRequest,
  order: 'asc' | 'desc' = 'asc',
): Promise<Page<O>> {
  const counted = await query.select(sql<number>`count(*)::int`.as('total')).executeTakeFirstOrThrow()
  const total = (counted as { total: number }).total
  const items = await select(query)
    .orderBy(sql.ref('id'), order)
    .limit(request.limit)
    .offset((request.page - 1) * request.limit)
    .execute()
  return { items, total }
}
