/** Why a decision was made: the rules that denied it, with file and line, and what the policy in force says. */
import { gateway } from '../../api/client.ts'
import { useResource } from '../../api/resource.ts'
import { Loaded } from '../../components/layout.tsx'
import { Ago, Facts, Json, Status } from '../../components/text.tsx'

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

export function Explained({ id }: { readonly id: string }) {
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
              ['Decided', <Ago at={found.at} />],
              ['Policy revision', <code>{found.revision}</code>],
              [
                'Decision of the policy in force',
                <Status tone={found.now.allow ? 'good' : 'bad'}>
                  {found.now.allow ? 'allowed' : 'denied'}
                </Status>,
              ],
              [
                'Scopes that would lift the denial',
                found.now.missing_scopes === null
                  ? 'no scope would lift the denial'
                  : found.now.missing_scopes.join(', ') || '–',
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
