/** The bounded rows of the live table: recorded calls, then new ones, and a gap for calls that the gateway reports as missed. It draws nothing. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { CallRow, Calls } from '../../api/admin-types.ts'
import { gateway, queryOf } from '../../api/client.ts'
import type { Tone } from '../../components/text.tsx'

/** Of rows in memory; the oldest are dropped. */
const MAX_ROWS = 100_000
const FIRST_ROWS = 200
const RECONNECT_MS = 2_000

/** Calls between two rows that the gateway reports as missed. */
export interface Gap {
  readonly id: string
  readonly missed: number
}

export type Row = CallRow | Gap

/** Color of each kind of call. */
export const KIND_TONES: Readonly<Record<CallRow['kind'], Tone>> = {
  success: 'good',
  refused: 'warn',
  failed: 'bad',
}

type Filters = Readonly<Record<string, string | undefined>>

export interface LiveCalls {
  /** Newest first. */
  readonly rows: readonly Row[]
  readonly state: 'connecting' | 'live' | 'paused' | 'interrupted'
  readonly error: Error | undefined
}

/** @param filters as a query; the rows depend on them */
export function useLiveCalls(filters: Filters, paused: boolean): LiveCalls {
  const rows = useSignal<readonly Row[]>([])
  const state = useSignal<LiveCalls['state']>('connecting')
  const error = useSignal<Error | undefined>(undefined)
  const search = queryOf(filters)

  useEffect(() => {
    if (paused) {
      state.value = 'paused'
      return
    }
    let source: EventSource | undefined
    let timer: number | undefined
    let ended = false
    let known: ReadonlySet<string> = new Set()

    const connect = (): void => {
      if (ended) return
      source = new EventSource(new URL(`api/gateway/admin/calls/stream${search}`, document.baseURI))
      source.addEventListener('calls', event => {
        const { calls, missed } = JSON.parse(event.data as string) as { calls: CallRow[]; missed: number }
        state.value = 'live'
        const fresh = calls.filter(({ id }) => !known.has(id)).reverse()
        const gap = missed > 0 ? [{ id: `gap-${event.lastEventId}`, missed }] : []
        if (fresh.length + gap.length > 0) rows.value = [...fresh, ...gap, ...rows.value].slice(0, MAX_ROWS)
      })
      source.onerror = () => {
        state.value = 'interrupted'
        // the browser reconnects by itself, unless the response was an error
        if (source?.readyState !== EventSource.CLOSED) return
        timer = window.setTimeout(connect, RECONNECT_MS)
      }
    }

    state.value = 'connecting'
    rows.value = []
    gateway<Calls>(`admin/calls${queryOf({ ...filters, limit: FIRST_ROWS })}`).then(
      ({ calls }) => {
        if (ended) return
        known = new Set(calls.map(({ id }) => id))
        rows.value = calls
        error.value = undefined
        connect()
      },
      (failure: Error) => {
        error.value = failure
      },
    )
    return () => {
      ended = true
      clearTimeout(timer)
      source?.close()
    }
  }, [search, paused])

  return { rows: rows.value, state: state.value, error: error.value }
}
