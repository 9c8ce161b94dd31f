/** What the check of a draft has found: errors, tests, recorded decisions that would be made otherwise, and one decision. */
import type { PolicyDraftReport, PolicyFlip } from '../../../api/types.ts'
import { Empty, Section } from '../../../components/layout.tsx'
import { number } from '../../../components/numbers.ts'
import { Table } from '../../../components/table.tsx'
import { Facts, Json, Status } from '../../../components/text.tsx'
import { href } from '../../../state/router.ts'
import { flipColumns } from '../flip-columns.tsx'

type OnOpen = (file: string, row: number) => void

function Place({
  file,
  row,
  onOpen,
}: {
  readonly file: string | null
  readonly row: number | null
  readonly onOpen: OnOpen
}) {
  if (file === null || file === '' || row === null) return <span class="muted">–</span>
  return (
    <button type="button" class="link" onClick={() => onOpen(file, row)}>
      <code>{`${file}:${row}`}</code>
    </button>
  )
}

export function Report({ of: report, onOpen }: { readonly of: PolicyDraftReport; readonly onOpen: OnOpen }) {
  const { errors, tests, revision, cacheable, comparison } = report
  const failed = tests.filter(({ passed }) => !passed)
  // without both, only an input was evaluated
  const isOfDraft = errors.length > 0 || revision !== null
  return (
    <>
      {isOfDraft && (
        <Section title="Check">
          {errors.length > 0 ? (
            <div class="notice bad" role="alert">
              <b>The draft does not compile.</b>
              <ul>
                {errors.map(error => (
                  <li key={`${error.file}:${error.row}:${error.message}`}>
                    <Place file={error.file} row={error.row} onOpen={onOpen} /> {error.message}
                  </li>
                ))}
              </ul>
            </div>
          ) : (
            <p class="notice" role="status">
              <Status tone="good">compiled</Status> as revision <code>{revision}</code>; decisions are{' '}
              {cacheable === true
                ? 'cached'
                : 'not cached, because rules use the time, call arguments or client responses'}
              .
            </p>
          )}
          {errors.length === 0 && (
            <Table
              caption="Tests that did not pass"
              columns={[
                { title: 'Test', cell: test => `${test.package}.${test.name}` },
                { title: 'Result', cell: test => <Status tone="bad">{test.error ?? 'failed'}</Status> },
                { title: 'Where', cell: test => <Place file={test.file} row={test.row} onOpen={onOpen} /> },
              ]}
              rows={failed}
              keyOf={test => `${test.package}.${test.name}`}
              empty={<p>{`${number(tests.length)} of ${number(tests.length)} tests passed.`}</p>}
            />
          )}
        </Section>
      )}
      {comparison !== null && (
        <Section title="Comparison with recorded decisions">
          <p>
            {`${number(comparison.flipped)} of the last ${number(comparison.compared)} recorded decisions would differ.`}
            {comparison.failed > 0 && ` ${number(comparison.failed)} could not be evaluated.`}
            {comparison.masked > 0 &&
              ` In ${number(comparison.masked)} decisions, arguments are masked, so rules that read arguments may decide differently.`}
          </p>
          <Table
            caption="Recorded decisions that the draft would change"
            columns={FLIP_COLUMNS}
            rows={comparison.flips}
            keyOf={flip => [flip.direction, flip.rule, flip.action, flip.resource, flip.consumer].join()}
            empty={
              <Empty title={comparison.compared === 0 ? 'No decision is recorded yet' : 'No difference'}>
                The gateway logs all denials, and the percentage of the other decisions that is set in
                DECISION_LOG_PERCENT.
              </Empty>
            }
          />
        </Section>
      )}
      {report.decision !== null && <Decision of={report.decision} onOpen={onOpen} />}
    </>
  )
}

const FLIP_COLUMNS = [
  ...flipColumns,
  {
    title: '',
    cell: ({ examples: [id] }: PolicyFlip) =>
      id === undefined ? null : (
        <span class="actions">
          <a class="button small" href={href('policy', { decision: id })}>
            Explain
          </a>
        </span>
      ),
  },
]

function Decision({
  of: { allow, unavailable, revision, reasons, obligations },
  onOpen,
}: {
  readonly of: NonNullable<PolicyDraftReport['decision']>
  readonly onOpen: OnOpen
}) {
  return (
    <Section title="Decision for the input">
      <div class="card">
        <Facts
          rows={[
            [
              'Decision',
              <Status tone={allow ? 'good' : 'bad'}>
                {unavailable ? 'not made' : allow ? 'allowed' : 'denied'}
              </Status>,
            ],
            ['Policy revision', <code>{revision}</code>],
          ]}
        />
        {reasons.map(({ code, message, rules }) => (
          <div class="notice warn" key={code}>
            <b>{message}</b> <code>{code}</code>
            <ul>
              {rules.map(({ title, file, line }) => (
                <li key={`${file}:${line}`}>
                  {title}: <Place file={file} row={line} onOpen={onOpen} />
                </li>
              ))}
            </ul>
          </div>
        ))}
        {obligations !== null && <Json value={obligations} label="Obligations" />}
      </div>
    </Section>
  )
}
