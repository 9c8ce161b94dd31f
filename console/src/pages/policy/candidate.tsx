/** The candidate policy: which decisions about the traffic of the gateway it would make otherwise, and its promotion. The gateway compares. */
import { useSignal } from '@preact/signals'
import { ApiError, gateway } from '../../api/client.ts'
import { ConfirmButton } from '../../components/dialog.tsx'
import { Empty } from '../../components/layout.tsx'
import { number } from '../../components/numbers.ts'
import { Table } from '../../components/table.tsx'
import { Facts } from '../../components/text.tsx'
import { href } from '../../state/router.ts'
import { type Flip, flipColumns } from './flip-columns.tsx'

export interface Candidate {
  readonly revision?: string
  readonly compared?: number
  readonly flipped?: number
  readonly failed?: number
  readonly skipped?: number
  readonly flips?: readonly Flip[] | undefined
  readonly max_flips: number
  readonly fault?: string
}

const COLUMNS = [
  ...flipColumns,
  {
    title: '',
    cell: ({ action, resource, consumer }: Flip) =>
      action === 'tools.call' ? (
        <span class="actions">
          <a class="button small" href={href('calls', { tool: resource, consumer })}>
            Calls
          </a>
        </span>
      ) : null,
  },
]

/** At the gateway of this console; the policy editor promotes at the control plane instead. */
const promoteHere = (): Promise<unknown> => gateway('admin/policy/promote', { method: 'POST' })

export function CandidateCard({
  of: candidate,
  promote: send = promoteHere,
  onPromoted,
}: {
  readonly of: Candidate
  readonly promote?: (revision: string) => Promise<unknown>
  readonly onPromoted: () => Promise<void>
}) {
  const refused = useSignal<string | undefined>(undefined)
  const { revision, compared = 0, flipped = 0, failed = 0, skipped = 0, flips = [], fault } = candidate
  const promote = async (): Promise<void> => {
    try {
      await send(revision ?? '')
      refused.value = undefined
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      refused.value = error.message
    }
    await onPromoted()
  }
  return (
    <div class="card">
      {fault !== undefined && (
        <p class="notice bad" role="alert">
          The candidate policy cannot be used: {fault}
        </p>
      )}
      <Facts
        rows={[
          ['Revision', revision === undefined ? 'not loaded yet' : <code>{revision}</code>],
          ['Decisions compared', number(compared)],
          ['Would differ', `${number(flipped)} (a promotion allows at most ${number(candidate.max_flips)})`],
          ['Failed evaluations of the candidate', number(failed)],
          ['Not compared', number(skipped)],
        ]}
      />
      <Table
        caption="Decisions that the candidate would change"
        columns={COLUMNS}
        rows={flips}
        keyOf={({ direction, rule, action, resource, consumer }) =>
          [direction, rule, action, resource, consumer].join()
        }
        empty={
          <Empty
            title={compared === 0 ? 'No decision was compared yet' : 'No compared decision would change'}
          >
            While the gateway serves calls, it evaluates the candidate with the same inputs as the policy in
            force.
          </Empty>
        }
      />
      {refused.value !== undefined && (
        <p class="notice bad" role="alert">
          Not promoted: {refused.value}
        </p>
      )}
      <div class="actions">
        <ConfirmButton
          label="Promote"
          question={`Revision ${revision ?? '?'} becomes the policy in force, in all threads at the same time. No call is interrupted.`}
          onConfirm={promote}
        />
      </div>
    </div>
  )
}
