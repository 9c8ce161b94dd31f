/** A list of the control plane: its state of loading, one page of its rows, and the way to the others. */
import type { Resource } from '../api/resource.ts'
import type { List } from '../api/types.ts'
import { Loaded } from './layout.tsx'
import { Pager } from './pager.tsx'
import { Table, type TableProps } from './table.tsx'

interface PagedTableProps<Row> extends Omit<TableProps<Row>, 'rows'> {
  readonly of: Resource<List<Row>>
}

export function PagedTable<Row>({ of, ...table }: PagedTableProps<Row>) {
  return (
    <Loaded of={of}>
      {found => (
        <>
          <Table {...table} rows={found.items} />
          {found.items.length > 0 && <Pager of={found} />}
        </>
      )}
    </Loaded>
  )
}
