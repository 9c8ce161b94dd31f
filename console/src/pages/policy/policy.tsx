/** Policy: the bundle in force with its rules, its candidate, recorded decisions, and why a decision was made; or the editor. */
import { gateway } from '../../api/client.ts'
import { useResource } from '../../api/resource.ts'
import { Empty, Loaded, Page, Section } from '../../components/layout.tsx'
import { number } from '../../components/numbers.ts'
import { Table } from '../../components/table.tsx'
import { Ago, Facts } from '../../components/text.tsx'
import { href, query, segments, setQuery } from '../../state/router.ts'
import { hasControlPlane, may } from '../../state/session.ts'
import { type Candidate, CandidateCard } from './candidate.tsx'
import { Decisions } from './decisions.tsx'
import { PolicyEditor } from './editor/editor.tsx'
import { Explained } from './explained.tsx'

interface PolicyStatus {
  readonly engine: string
  readonly revision: string
  readonly since?: string
  readonly swaps?: number
  readonly rejected?: number
  readonly fault?: string
  readonly candidate?: Candidate
  readonly rules?: readonly {
    readonly code: string
    readonly title: string
    readonly file: string
    readonly line: number
    readonly readsArguments?: boolean
  }[]
}

export function Policy() {
  return segments.value[1] === 'editor' && hasControlPlane.value ? <PolicyEditor /> : <PolicyOverview />
}

function PolicyOverview() {
  const status = useResource(signal => gateway<PolicyStatus>('admin/policy', { signal }), [], 5_000)
  const id = query.value.get('decision')
  const { candidate, rules = [] } = status.value.value ?? {}
  return (
    <Page
      title="Policy"
      lead="The rules in force, and why a call was denied."
      actions={
        hasControlPlane.value &&
        may('policy.read') && (
          <a class="button" href={href('policy/editor')}>
            Edit the rules
          </a>
        )
      }
    >
      <Section title="In force">
        <Loaded of={status}>{found => <InForce of={found} />}</Loaded>
      </Section>
      {candidate !== undefined && (
        <Section title="Candidate">
          <CandidateCard of={candidate} onPromoted={() => status.reload()} />
        </Section>
      )}
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
            The response to a denied call contains a decision_id. The page Calls links each denial to its
            explanation.
          </Empty>
        ) : (
          <Explained id={id} />
        )}
      </Section>
      <Decisions />
      {rules.length > 0 && (
        <Section title="Rules that can deny requests">
          <Table caption="Rules" columns={RULES} rows={rules} keyOf={({ file, line }) => `${file}:${line}`} />
        </Section>
      )}
    </Page>
  )
}

function InForce({ of: found }: { readonly of: PolicyStatus }) {
  return (
    <div class="card">
      {found.fault !== undefined && (
        <p class="notice bad" role="alert">
          The newest policy bundle is not in force: {found.fault}
        </p>
      )}
      <Facts
        rows={[
          ['Revision', <code>{found.revision}</code>],
          ['Engine', found.engine],
          ['In force since', found.since === undefined ? '–' : <Ago at={found.since} />],
          ['Bundles activated since the gateway started', number((found.swaps ?? 0) + 1)],
          ['Bundles refused', number(found.rejected ?? 0)],
        ]}
      />
    </div>
  )
}

type Rule = NonNullable<PolicyStatus['rules']>[number]

const RULES = [
  {
    title: 'Rule',
    cell: ({ title, code }: Rule) => (
      <>
        <b>{title}</b>
        <span class="sub">{code}</span>
      </>
    ),
  },
  { title: 'Source', cell: ({ file, line }: Rule) => <code>{`${file}:${line}`}</code> },
  {
    title: 'Reads arguments',
    wide: true,
    cell: ({ readsArguments }: Rule) => (readsArguments === true ? 'yes' : 'no'),
  },
  {
    title: '',
    cell: ({ code }: Rule) => (
      <span class="actions">
        <a class="button small" href={href('policy', { code })}>
          Denials
        </a>
      </span>
    ),
  },
]
