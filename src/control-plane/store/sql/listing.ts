/** Building blocks of queries: pages, searches, filters, scope, locks. */
import { type Expression, type ExpressionBuilder, type SelectQueryBuilder, type SqlBool, sql } from 'kysely'
import type { ListPage, Locking, PageRequest } from '../repositories.ts'
import { EVERY_TENANT, type Scope } from '../store.ts'

/** A pattern that matches the text anywhere; `%`, `_` and `\` in it are literal. */
export function containsPattern(text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`
}

/**
 * `column ilike '%q%'` over several columns. Letters of ASCII match no others, so a text of them is compared byte by byte, which takes a
 * third less time.
 */
export function matches<DB, TB extends keyof DB>(
  eb: ExpressionBuilder<DB, TB>,
  columns: readonly Expression<unknown>[],
  q: string,
): Expression<SqlBool> {
  const pattern = containsPattern(q)
  const collated = /^[\x20-\x7e]*$/.test(q) ? sql` collate "C"` : sql``
  return eb.or(columns.map(column => sql<SqlBool>`${column}${collated} ilike ${pattern} escape '\\'`))
}

/** True for rows of the scope's tenant, and for every row when the scope is every tenant. */
export function inScope(scope: Scope, column = 'tenant_id'): Expression<SqlBool> {
  return scope === EVERY_TENANT ? sql<SqlBool>`true` : sql<SqlBool>`${sql.ref(column)} = ${scope}`
}

/** True for the row of that id, and of that tenant where it is given, if it belongs to the scope's tenant. */
export function isRow(
  scope: Scope,
  { id, tenantId }: { readonly id: string; readonly tenantId?: string },
): Expression<SqlBool> {
  const ofTenant = tenantId === undefined ? sql<SqlBool>`true` : sql<SqlBool>`tenant_id = ${tenantId}`
  return sql<SqlBool>`id = ${id} and ${ofTenant} and ${inScope(scope)}`
}

/** Columns whose missing values come last in both orders; the other columns can use their index. */
const NULLABLE = new Set(['expires_at', 'last_seen_at', 'last_used_at'])

/** One page of a filtered query, with the total number of rows; the order of ids is the order of creation. */
export async function page<DB, TB extends keyof DB, O>(
  query: SelectQueryBuilder<DB, TB, object>,
  select: (query: SelectQueryBuilder<DB, TB, object>) => SelectQueryBuilder<DB, TB, O>,
  request: PageRequest,
  order: 'asc' | 'desc' = 'asc',
): Promise<ListPage<O>> {
  const { sort, limit } = request
  const column = sort?.replace('-', '') ?? 'created_at'
  const isCreation = column === 'created_at'
  const direction = sort === undefined ? order : sort.startsWith('-') ? 'desc' : 'asc'
  const offset = (request.page - 1) * limit
  // a search reads every row in any case, so the same query counts them
  const isSearch = request.q !== undefined
  const found = await select(query)
    .$if(isSearch, rows => rows.select(sql<number>`(count(*) over ())::int`.as(TOTAL)))
    .$if(!isCreation, rows =>
      rows.orderBy(sql.ref(column), by =>
        direction === 'asc' ? by.asc() : NULLABLE.has(column) ? by.desc().nullsLast() : by.desc(),
      ),
    )
    .orderBy(sql.ref('id'), direction)
    .limit(limit)
    .offset(offset)
    .execute()
  const items = isSearch ? found.map(({ [TOTAL]: _, ...item }: Counted) => item as O) : (found as O[])
  if (isSearch && found.length > 0) return { items, total: (found[0] as Counted)[TOTAL]! }
  // the last page has the total in it
  const isLast = items.length < limit && (items.length > 0 || offset === 0)
  return { items, total: isLast ? offset + items.length : await countOf(query) }
}

/** Column of a search, beside those of its rows. */
const TOTAL = 'totalOfSearch'
type Counted = { readonly [TOTAL]?: number }

async function countOf<DB, TB extends keyof DB>(query: SelectQueryBuilder<DB, TB, object>): Promise<number> {
  const counted = await query.select(sql<number>`count(*)::int`.as('total')).executeTakeFirstOrThrow()
  return (counted as { total: number }).total
}

/** The first row, locked on request. */
export function first<DB, TB extends keyof DB, O>(
  query: SelectQueryBuilder<DB, TB, O>,
  locking?: Locking,
): ReturnType<SelectQueryBuilder<DB, TB, O>['executeTakeFirst']> {
  return withLock(query, locking).executeTakeFirst()
}

/** Checks of foreign keys take FOR KEY SHARE, which waits for FOR UPDATE only (PostgreSQL, "Row-Level Locks"). */
export function withLock<DB, TB extends keyof DB, O>(
  query: SelectQueryBuilder<DB, TB, O>,
  locking: Locking = 'plain',
): SelectQueryBuilder<DB, TB, O> {
  if (locking === 'exclusive') return query.forUpdate()
  return locking === 'lock' ? query.forNoKeyUpdate() : query
}

/** The filters that are not undefined, for `eb.and`: each is `column = value`. */
export function given<T extends object>(filters: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}
