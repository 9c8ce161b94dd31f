/** The matrix: each dependency × fault × moment is one cell, either a row with its expectation or a combination that cannot occur, with the reason. */

export const FAULTS = [
  'refuse',
  'reset while idle',
  'reset in flight',
  'hang',
  'slow',
  'half-open',
  'garbage',
  'back after 1 s',
  'back after 60 s',
] as const
export const MOMENTS = ['start', 'idle', 'load', 'transaction', 'subscribing', 'draining'] as const

export type Fault = (typeof FAULTS)[number]
export type Moment = (typeof MOMENTS)[number]
export type CellName = `${Fault} @ ${Moment}`

export interface Expected {
  /** Statuses of calls while the fault lasts. 429 and 503 always need `Retry-After`; no other status may occur, except 503 at the start. */
  readonly calls: readonly number[]
  /** What health and metric report once the fault has been noticed; `any`: it may be over before. */
  readonly state: 'faulty' | 'fine' | 'any'
}

/** Absent fault or moment: all of them. */
export interface Never {
  readonly fault?: readonly Fault[]
  readonly moment?: readonly Moment[]
  readonly reason: string
}

export interface Table {
  readonly dependency: string
  readonly expected: Readonly<Record<Fault, Expected>>
  /** Where a cell differs from the row of its fault. */
  readonly cells?: { readonly [cell in CellName]?: Partial<Expected> }
  /** The same for all cells of a moment; `cells` takes precedence. */
  readonly moments?: { readonly [moment in Moment]?: Partial<Expected> }
  readonly never: readonly Never[]
  /** Cells of the short form, at least one for each kind of defect that occurs. */
  readonly short: readonly CellName[]
  /** Cells whose expectation does not hold yet, and what it waits for. They run, and fail the run when they pass. */
  readonly open?: { readonly [cell in CellName]?: string }
}

export interface Row extends Expected {
  readonly kind: 'row'
  readonly name: CellName
  readonly fault: Fault
  readonly moment: Moment
  readonly isShort: boolean
  readonly open: string | undefined
}

export interface Impossible {
  readonly kind: 'never'
  readonly name: CellName
  readonly reason: string
}

/** True of every dependency. */
export const NEVER_ANYWHERE: readonly Never[] = [
  {
    fault: ['reset while idle'],
    moment: ['start'],
    reason: 'at the start there is not yet a connection that could be idle',
  },
  {
    fault: ['reset while idle'],
    moment: ['load', 'transaction', 'subscribing'],
    reason: 'the connection is in use at this moment: this is "reset in flight"',
  },
  {
    fault: ['reset in flight'],
    moment: ['idle'],
    reason: 'nothing is in flight: this is "reset while idle"',
  },
  {
    fault: ['back after 60 s'],
    moment: ['draining'],
    reason: 'the process has exited long before the dependency is back: this is "refuse"',
  },
]

export function cellsOf(table: Table): readonly (Row | Impossible)[] {
  return MOMENTS.flatMap(moment =>
    FAULTS.map((fault): Row | Impossible => {
      const name: CellName = `${fault} @ ${moment}`
      const never = [...NEVER_ANYWHERE, ...table.never].find(
        each => (each.fault?.includes(fault) ?? true) && (each.moment?.includes(moment) ?? true),
      )
      if (never !== undefined) return { kind: 'never', name, reason: never.reason }
      return {
        kind: 'row',
        name,
        fault,
        moment,
        ...table.expected[fault],
        ...table.moments?.[moment],
        ...table.cells?.[name],
        isShort: table.short.includes(name),
        open: table.open?.[name],
      }
    }),
  )
}

export function rowsOf(table: Table): readonly Row[] {
  return cellsOf(table).filter(cell => cell.kind === 'row')
}

/** One expectation for all faults, with exceptions. */
export function everyFault(
  expected: Expected,
  exceptions: { readonly [fault in Fault]?: Partial<Expected> } = {},
): Record<Fault, Expected> {
  return Object.fromEntries(
    FAULTS.map(fault => [fault, { ...expected, ...exceptions[fault] }]),
  ) as unknown as Record<Fault, Expected>
}
