/** The revisions that were in force, and the return to one of them. The control plane keeps them. */
import { useSignal } from '@preact/signals'
import { ApiError, control } from '../../../api/client.ts'
import type { PolicyInForce } from '../../../api/types.ts'
import { ConfirmButton } from '../../../components/dialog.tsx'
import { Empty, Section } from '../../../components/layout.tsx'
import { Table } from '../../../components/table.tsx'
import { Ago } from '../../../components/text.tsx'
import { may } from '../../../state/session.ts'
import type { PartProps } from './draft.tsx'

export function History({ policy, onChanged }: PartProps) {
  const failure = useSignal<string | undefined>(undefined)
  const rollBack = async (revision: string): Promise<void> => {
    try {
      await control('policy/rollback', { method: 'POST', body: { revision } })
      failure.value = undefined
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      failure.value = error.message
    }
    await onChanged()
  }
  const columns = [
    { title: 'Revision', cell: ({ revision }: Kept) => <code>{revision}</code> },
    { title: 'In force since', cell: ({ since }: Kept) => <Ago at={since} /> },
    {
      title: '',
      cell: ({ revision }: Kept) =>
        revision === policy.revision ? (
          <span class="muted">in force</span>
        ) : may('policy.change') && policy.read_only === null ? (
          <span class="actions">
            <ConfirmButton
              label="Roll back"
              question={`Revision ${revision} becomes the policy in force again, in all threads at the same time. No call is interrupted.`}
              onConfirm={() => rollBack(revision)}
            />
          </span>
        ) : null,
    },
  ]
  return (
    <Section title="Revisions">
      {failure.value !== undefined && (
        <p class="notice bad" role="alert">
          {failure.value}
        </p>
      )}
      <Table
        caption="Revisions that were in force"
        columns={columns}
        rows={policy.history}
        keyOf={({ revision }) => revision}
        empty={<Empty title="No revision is stored yet" />}
      />
    </Section>
  )
}

type Kept = PolicyInForce['history'][number]
