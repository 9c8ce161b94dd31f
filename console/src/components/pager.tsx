/** Page by page through a list of the control plane; the number is in the address. */
import type { List } from '../api/types.ts'
import { query, setQuery } from '../state/router.ts'
import { number } from './numbers.ts'

export function pageOf(): number {
  const page = Number(query.value.get('page'))
  return Number.isInteger(page) && page > 0 ? page : 1
}

export function Pager({ of: { total, page, total_pages } }: { readonly of: List<unknown> }) {
  if (total_pages <= 1) return <p class="pages">{number(total)} in all</p>
  const go = (to: number): void => setQuery({ page: to === 1 ? '' : to })
  return (
    <nav class="pages" aria-label="Pages of the list">
      <span>
        Page {page} of {total_pages}, {number(total)} in all
      </span>
      <span class="actions">
        <button type="button" class="button small" disabled={page <= 1} onClick={() => go(page - 1)}>
          Previous
        </button>
        <button
          type="button"
          class="button small"
          disabled={page >= total_pages}
          onClick={() => go(page + 1)}
        >
          Next
        </button>
      </span>
    </nav>
  )
}
