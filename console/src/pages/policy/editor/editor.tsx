/** The policy editor: a draft of the rules, its check, its comparison with traffic, its promotion, and the return to an earlier revision. The control plane compiles. */
import { control } from '../../../api/client.ts'
import { useResource } from '../../../api/resource.ts'
import type { PolicyInForce } from '../../../api/types.ts'
import { Loaded, Page, Section } from '../../../components/layout.tsx'
import { href } from '../../../state/router.ts'
import { CandidateCard } from '../candidate.tsx'
import { Draft } from './draft.tsx'
import { History } from './history.tsx'

export function PolicyEditor() {
  const policy = useResource(signal => control<PolicyInForce>('policy', { signal }), [], 5_000)
  return (
    <Page
      title="Policy editor"
      lead="Change the rules, see which recorded decisions would differ, then promote the change."
      actions={
        <a class="button" href={href('policy')}>
          Policy in force
        </a>
      }
    >
      <Loaded of={policy}>
        {found => (
          <>
            {!found.compiler.available && (
              <p class="notice warn">
                <b>Drafts cannot be compiled here.</b> {found.compiler.hint} Without a compiler, the editor
                evaluates inputs with the policy in force.
              </p>
            )}
            {found.read_only !== null && <p class="notice warn">{found.read_only}</p>}
            <Draft policy={found} onChanged={() => policy.reload()} />
            {found.candidate !== null && (
              <Section title="Candidate">
                <CandidateCard
                  of={found.candidate}
                  promote={revision => control('policy/promote', { method: 'POST', body: { revision } })}
                  onPromoted={() => policy.reload()}
                />
              </Section>
            )}
            <History policy={found} onChanged={() => policy.reload()} />
          </>
        )}
      </Loaded>
    </Page>
  )
}
