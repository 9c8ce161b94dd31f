/** Cuts one page out of a list. Nothing else. */
import type { ShopFields } from './fields.ts'

export interface ShopPage<T> {
  readonly items: readonly T[]
  readonly total: number
  readonly page: number
  readonly limit: number
}

export interface Paging {
  readonly page: number
  readonly limit: number
}

/** Query parameters `page` (from 1) and `limit` (1 to 100, 20 without it). */
export function readPaging(fields: ShopFields): Paging {
  return {
    page: fields.optional('page', () => fields.integer('page', { min: 1, max: 10_000 })) ?? 1,
    limit: fields.optional('limit', () => fields.integer('limit', { min: 1, max: 100 })) ?? 20,
  }
}

export function shopPageOf<T>(all: readonly T[], { page, limit }: Paging): ShopPage<T> {
  return { items: all.slice((page - 1) * limit, page * limit), total: all.length, page, limit }
}
