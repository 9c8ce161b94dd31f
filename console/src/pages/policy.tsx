/** Policy: the bundle in force, its candidate, and why a decision was made. It evaluates nothing. */
import { useSignal } from '@preact/signals'
import { ApiError, gateway } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import { ConfirmButton } from '../components/dialog.tsx'
import { Empty, Loaded, Page, Section } from '../components/layout.tsx'
import { Ago, Facts, Json, number, Status } from '../components/text.tsx'
import { query, setQuery } from '../state/router.ts'

interface PolicyStatus {
  readonly engine: string
  readonly revision: string
  readonly remembered: number
  readonly since?: string
  readonly swaps?: number
  readonly rejected?: number
  readonly fault?: string
  readonly candidate?: Readonly<Record<string, unknown>>
}

interface Explanation {
  readonly id: string
  readonly at: string
  readonly revision: string
  readonly allow: boolean
  readonly masked: boolean
  readonly input: unknown
  readonly reasons: readonly {
    readonly code: string
    readonly message: string
    readonly rules: readonly { readonly file: string; readonly line: number; readonly title: string }[]
  }[]
  readonly now: {
    readonly revision: string
    readonly allow: boolean
    readonly missing_scopes: readonly string[] | null
  }
}

export function Policy() {
  const status = useResource(signal => gateway<PolicyStatus>('admin/policy', { signal }), [], 5_000)
  const id = query.value.get('decision')
  return (
    <Page title="Policy" lead="The rules in force, and why a call was denied.">
      <Section title="In force">
        <Loaded of={status}>{found => <InForce of={found} onPromoted={() => void status.reload()} />}</Loaded>
      </Section>
      <Section title="Explain a decision">
        <form
          class="filters"
          onSubmit={event => {
            event.preventDefault()
            setQuery({ decision: String(new FormData(event.currentTarget).get('decision') ?? '').trim() })
          }}
        >
          <div class="field grow">
            <label for="decision">Decision id</label>
            <input
              id="decision"
              name="decision"
              key={id}
              defaultValue={id ?? ''}
              autocomplete="off"
              spellcheck={false}
              placeholder="decision_id of a denial"
            />
          </div>
          <button type="submit" class="button">
            Explain
          </button>
        </form>
        {id === null ? (
          <Empty title="No decision chosen">
            The body of a denial has a decision_id; the page Calls links to the explanation of each.
          </Empty>
        ) : (
          <Explained id={id} />
        )}
      </Section>
    </Page>
  )
}

function InForce({ of: found, onPromoted }: { readonly of: PolicyStatus; readonly onPromoted: () => void }) {
  const refused = useSignal<string | undefined>(undefined)
  const promote = async (): Promise<void> => {
    try {
      await gateway('admin/policy/promote', { method: 'POST' })
      refused.value = undefined
      onPromoted()
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      refused.value = error.message
    }
  }
  return (
    <div class="card">
      {found.fault !== undefined && (
        <p class="notice bad" role="alert">
          The newest bundle is not served: {found.fault}
        </p>
      )}
      <Facts
        rows={[
          ['Revision', <code>{found.revision}</code>],
          ['Engine', found.engine],
          ['In force since', found.since === undefined ? '–' : <Ago at={found.since} />],
          ['Bundles served since the start', number((found.swaps ?? 0) + 1)],
          ['Bundles refused', number(found.rejected ?? 0)],
          ['Cached decisions', number(found.remembered)],
        ]}
      />
      {found.candidate !== undefined && (
        <>
          <h3>Candidate, evaluated beside it</h3>
          <Json value={found.candidate} label="Candidate" />
          {refused.value !== undefined && (
            <p class="notice bad" role="alert">
              {refused.value}
            </p>
          )}
          <div class="actions">
            <ConfirmButton
              label="Promote"
              question="The candidate becomes the policy in force, in all threads together."
              onConfirm={promote}
            />
          </div>
        </>
      )}
    </div>
  )
}

function Explained({ id }: { readonly id: string }) {
  const explanation = useResource(
    signal => gateway<Explanation>(`admin/policy/decisions/${encodeURIComponent(id)}`, { signal }),
    [id],
  )
  return (
    <Loaded of={explanation}>
      {found => (
        <div class="card">
          <Facts
            rows={[
              [
                'Decision',
                <Status tone={found.allow ? 'good' : 'bad'}>{found.allow ? 'allowed' : 'denied'}</Status>,
              ],
              ['Made', <Ago at={found.at} />],
              ['By revision', <code>{found.revision}</code>],
              [
                'The policy in force says',
                <Status tone={found.now.allow ? 'good' : 'bad'}>
                  {found.now.allow ? 'allowed' : 'denied'}
                </Status>,
              ],
              [
                'Scopes that would be enough',
                found.now.missing_scopes === null ? 'none' : found.now.missing_scopes.join(', ') || '–',
              ],
            ]}
          />
          {found.reasons.map(reason => (
            <div class="notice warn" key={reason.code}>
              <b>{reason.message}</b> <code>{reason.code}</code>
              <ul>
                {reason.rules.map(rule => (
                  <li key={`${rule.file}:${rule.line}`}>
                    {rule.title}: <code>{`${rule.file}:${rule.line}`}</code>
                  </li>
                ))}
              </ul>
            </div>
          ))}
          <h3>Input{found.masked ? ', masked' : ''}</h3>
          <Json value={found.input} label="Input of the decision" />
        </div>
      )}
    </Loaded>
  )
}
