/** The bounded rows of the live table: recorded calls, then new ones, and a gap for calls that the gateway reports as missed. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { CallRow, Calls } from '../../api/admin-types.ts'
import { gateway, queryOf } from '../../api/client.ts'
import type { Tone } from '../../components/text.tsx'

/** For rows in memory; the oldest are dropped. */
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
    let loading: AbortController | undefined
    let isListed = false
    let known: ReadonlySet<string> = new Set()
    /** Id of the last event: where a new stream continues. */
    let position = ''
    /** Events that came before the list. */
    const early: MessageEvent<string>[] = []

    const stop = (): void => {
      loading?.abort()
      clearTimeout(timer)
      source?.close()
    }
    const add = ({ data, lastEventId }: MessageEvent<string>): void => {
      const { calls, missed } = JSON.parse(data) as { calls: CallRow[]; missed: number }
      const fresh = calls.filter(({ id }) => !known.has(id)).reverse()
      const gap = missed > 0 ? [{ id: `gap-${lastEventId}`, missed }] : []
      if (fresh.length + gap.length > 0) rows.value = [...fresh, ...gap, ...rows.value].slice(0, MAX_ROWS)
    }
    const list = async (): Promise<void> => {
      loading?.abort()
      const controller = new AbortController()
      loading = controller
      isListed = false
      try {
        const path = `admin/calls${queryOf({ ...filters, limit: FIRST_ROWS })}`
        const { calls } = await gateway<Calls>(path, { signal: controller.signal })
        if (controller.signal.aborted) return
        known = new Set(calls.map(({ id }) => id))
        rows.value = calls
        error.value = undefined
        isListed = true
        if (position !== '' && source?.readyState === EventSource.OPEN) state.value = 'live'
        for (const event of early.splice(0)) add(event)
      } catch (failure) {
        if (controller.signal.aborted) return
        error.value = failure as Error
        stop()
      } finally {
        if (loading === controller) loading = undefined
      }
    }
    const connect = (): void => {
      const from = queryOf({ ...filters, cursor: position })
      source = new EventSource(new URL(`api/gateway/admin/calls/stream${from}`, document.baseURI))
      source.addEventListener('calls', event => {
        const isFirst = position === ''
        position = event.lastEventId
        if (isListed) state.value = 'live'
        // the list is loaded when the stream has a position, so that no call is between the two; it holds the calls of this event
        if (isFirst) void list()
        else if (isListed) add(event)
        else early.push(event)
      })
      source.onerror = () => {
        state.value = 'interrupted'
        // the browser reconnects by itself, unless the response was an error
        if (source?.readyState !== EventSource.CLOSED) return
        timer = window.setTimeout(connect, RECONNECT_MS)
        // a denial is shown by the list: the error of a stream has no reason
        if (!isListed && loading === undefined) void list()
      }
    }

    state.value = 'connecting'
    rows.value = []
    connect()
    return stop
  }, [search, paused])

  return { rows: rows.value, state: state.value, error: error.value }
}
